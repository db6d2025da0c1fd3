import { useMutation, useQuery } from '@tanstack/react-query';
import { Play } from 'lucide-react';
import { useState } from 'react';
import { useAnnounce } from '../../components/announcer.tsx';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { CodeEditor } from '../../components/code-editor.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { JsonDiff } from '../../components/json-diff.tsx';
import type { JsonObject } from '../../components/json-value.ts';
import { Notice } from '../../components/notice.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { EventSource, SaveSample } from './event-source.tsx';
import { readEvent, unmarked } from './test-event.ts';
import {
  type Outcome,
  runTest,
  type TestedEvent,
  type TestedStep,
  type TestResult,
  type TestScope,
  testSteps,
} from './test-run.ts';
import { chainQuery, type PluginFiles, type Transformation } from './transformation-queries.ts';
import type { Draft } from './use-draft.ts';

interface TestTabProps {
  readonly config: Transformation;
  readonly draft: Draft;
  /** Unsaved code. */
  readonly files: PluginFiles | undefined;
  readonly eventText: string;
  readonly onEventText: (text: string) => void;
}

const scopes = [
  { value: 'step', label: 'This step' },
  { value: 'chain', label: 'All enabled steps' },
] as const satisfies readonly { value: TestScope; label: string }[];

/** Tests an event with unsaved changes, without storing anything. */
export function TestTab({ config, draft, files, eventText, onEventText }: TestTabProps) {
  const { scope, setScope, real, setReal, problem, test, run } = useTest({ config, draft, files, eventText });
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Section title="Event" description="Ctrl Enter runs the test.">
        <div className="flex flex-col gap-4">
          <EventSource onEvent={onEventText} />
          <CodeEditor
            label="Event"
            language="json"
            value={eventText}
            onChange={onEventText}
            onSubmit={run}
            height="18rem"
          />
          {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
          <div className="flex flex-wrap items-end gap-3">
            <div className="w-44">
              <Select label="Run" value={scope} choices={scopes} onChange={setScope} />
            </div>
            <Button
              kind="primary"
              icon={<Play aria-hidden="true" className="size-4" />}
              busy={test.isPending}
              onClick={run}
            >
              Run test
            </Button>
          </div>
          <Checkbox
            label="Allow outbound requests"
            hint="When off, requests of plugins are refused and the result shows how they handle it."
            checked={real}
            onChange={setReal}
          />
          {(draft.dirty || files !== undefined) && <Notice tone="info">The test uses your unsaved changes.</Notice>}
          <SaveSample eventText={eventText} />
        </div>
      </Section>
      <div className="flex min-w-0 flex-col gap-4">
        <ErrorNote error={test.error} />
        {test.data !== undefined ? (
          <TestResultView result={test.data} />
        ) : (
          <div className="rounded-lg border border-line bg-surface">
            <EmptyState title="No result yet">
              Load an event from the store or the live stream, or type one, then run the test. Nothing is stored.
            </EmptyState>
          </div>
        )}
      </div>
    </div>
  );
}

/** The state of the test and its result. */
function useTest({ config, draft, files, eventText }: Omit<TestTabProps, 'onEventText'>) {
  const { id: projectId } = useProject();
  const announce = useAnnounce();
  const [scope, setScope] = useState<TestScope>('step');
  const [real, setReal] = useState(false);
  const [problem, setProblem] = useState<string>();
  const chain = useQuery(chainQuery(projectId));
  const test = useMutation({
    mutationFn: (event: JsonObject) => {
      const steps = testSteps({
        config,
        chain: chain.data?.results ?? [config],
        scope,
        settings: draft.changed,
        files,
      });
      return runTest(projectId, { event, steps, requests: real ? 'real' : 'refused' });
    },
    onSuccess: ({ outcome, steps }) => announce(`The event was ${outcome} after ${steps.length} steps.`),
  });
  const run = (): void => {
    const read = readEvent(eventText);
    setProblem('problem' in read ? read.problem : undefined);
    if ('event' in read) test.mutate(read.event);
  };
  return { scope, setScope, real, setReal, problem, test, run };
}

const tones = { kept: 'ok', dropped: 'warn', failed: 'danger', skipped: 'neutral' } as const satisfies Record<
  Outcome,
  string
>;

/** The event before and after every step. */
function TestResultView({ result }: { readonly result: TestResult }) {
  return (
    <>
      {result.steps.map((step, index) => (
        <StepCard
          key={step.index}
          step={step}
          position={index + 1}
          // The input of a step is the output of the last step that kept the event.
          before={result.steps[index - 1]?.after ?? result.before}
        />
      ))}
      {result.steps.length > 1 && (
        <Section title="Result" actions={<StatusBadge tone={tones[result.outcome]}>{result.outcome}</StatusBadge>}>
          <JsonDiff
            label="Changes by all steps"
            before={unmarked(result.before)}
            after={result.after && unmarked(result.after)}
          />
        </Section>
      )}
    </>
  );
}

interface StepCardProps {
  readonly step: TestedStep;
  readonly position: number;
  readonly before: TestedEvent;
}

function StepCard({ step, position, before }: StepCardProps) {
  const { name, outcome, after, error, logs, captured, truncated, time_ms } = step;
  return (
    <Section
      title={
        <>
          {position}. <UserText text={name} charsMax={80} short />
        </>
      }
      description={`${time_ms.toLocaleString('en', { maximumFractionDigits: 3 })} ms`}
      actions={<StatusBadge tone={tones[outcome]}>{outcome}</StatusBadge>}
    >
      <div className="flex flex-col gap-3">
        {error !== null && (
          <Notice tone="danger">
            The step failed and the event stays unchanged. <UserText text={`${error.name}: ${error.message}`} />
          </Notice>
        )}
        {outcome === 'skipped' && <Notice tone="info">The step does not apply to this event.</Notice>}
        {truncated.length > 0 && <Notice tone="warn">Truncated: {truncated.join(', ')}.</Notice>}
        <JsonDiff label={`Changes by step ${position}`} before={unmarked(before)} after={after && unmarked(after)} />
        {logs.length > 0 && (
          <div className="flex flex-col gap-1">
            <h3 className="text-sm font-medium">Log</h3>
            <CodeBlock code={logs.map(({ level, message }) => `${level} ${message}`).join('\n')} />
          </div>
        )}
        {error !== null && error.stack !== '' && (
          <details>
            <summary className="text-sm">Stack trace</summary>
            <CodeBlock code={error.stack} />
          </details>
        )}
        {captured.length > 0 && (
          <p className="text-sm text-soft">
            Would capture: <UserText text={captured.map(({ event }) => event).join(', ')} />
          </p>
        )}
      </div>
    </Section>
  );
}
