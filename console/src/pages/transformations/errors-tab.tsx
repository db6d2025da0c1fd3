import { useQuery } from '@tanstack/react-query';
import type { PluginErrorListRecord } from '../../../../src/wire/contract/plugin-view.ts';
import { apiQuery } from '../../api/queries.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Loading } from '../../components/loading.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { transformationPath } from './transformation-queries.ts';

const pollMs = 10_000;
type Failure = PluginErrorListRecord['results'][number];

/** Errors of the step, grouped, with sample events. */
export function ErrorsTab({ id }: { readonly id: number }) {
  const { id: projectId } = useProject();
  const path = `${transformationPath(projectId, id)}/errors`;
  const errors = useQuery({ ...apiQuery<PluginErrorListRecord>(path), refetchInterval: pollMs });
  if (errors.data === undefined) {
    if (errors.error === null) return <Loading rows={5} label="Loading errors" />;
    return <ErrorState error={errors.error} onRetry={() => void errors.refetch()} />;
  }
  const { results } = errors.data;
  if (results.length === 0) {
    return (
      <div className="rounded-lg border border-line bg-surface">
        <EmptyState title="No errors">
          If the code throws, the event is stored unchanged and the error appears here with the event.
        </EmptyState>
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      {results.map((failure) => (
        <FailureCard key={failure.id} failure={failure} />
      ))}
    </div>
  );
}

function FailureCard({ failure }: { readonly failure: Failure }) {
  const { name, message, method, count, first_seen, last_seen, stack, samples } = failure;
  return (
    <Section
      title={<UserText text={`${name}: ${message}`} charsMax={300} />}
      description={
        <>
          In <code>{method}</code>, <NumberText value={count} /> times, first <TimeText time={first_seen} />, last{' '}
          <TimeText time={last_seen} form="ago" />
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {stack !== '' && (
          <details>
            <summary className="text-sm">Stack trace</summary>
            <div className="pt-2">
              <CodeBlock code={stack} />
            </div>
          </details>
        )}
        {samples.map((sample, index) => (
          <details key={index} open={index === 0}>
            <summary className="text-sm">
              Event <TimeText time={typeof sample['time'] === 'string' ? sample['time'] : null} form="exact" />
            </summary>
            <div className="pt-2">
              <JsonView value={sample['event'] ?? sample} />
            </div>
          </details>
        ))}
      </div>
    </Section>
  );
}
