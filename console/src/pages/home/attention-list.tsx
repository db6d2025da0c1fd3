import { ArrowRight, CircleCheck } from 'lucide-react';
import type { Attention } from '../../../../src/wire/contract/status.ts';
import { Section } from '../../components/section.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { plainText } from '../../components/plain-text.ts';

const tones = { error: 'danger', warning: 'warn' } as const;

/** What waits for a person, each with the way to where it is repaired. */
export function AttentionList({ attention }: { readonly attention: readonly Attention[] | undefined }) {
  return (
    <Section title="Needs attention" flush>
      {attention?.length === 0 && (
        <p className="flex items-center gap-2 px-4 py-3 text-sm text-soft">
          <CircleCheck aria-hidden="true" className="size-4 text-ok" />
          Nothing needs attention.
        </p>
      )}
      <ul className="divide-y divide-line">
        {attention?.map((each) => (
          <AttentionRow key={`${each.code} ${each.target}`} attention={each} />
        ))}
      </ul>
    </Section>
  );
}

function AttentionRow({ attention: { severity, summary, action, since, target } }: { readonly attention: Attention }) {
  const { id } = useProject();
  return (
    <li className="flex flex-wrap items-start gap-x-3 gap-y-1 px-4 py-3">
      <StatusBadge tone={tones[severity]}>{severity}</StatusBadge>
      <div className="min-w-0 flex-1 basis-60">
        <p className="text-sm font-medium">
          <UserText text={summary} />
        </p>
        <p className="text-xs text-soft">
          <UserText text={action} />
          {since !== null && (
            <>
              {' · '}
              <TimeText time={since} form="ago" />
            </>
          )}
        </p>
      </div>
      <a
        href={`/console/projects/${id}/${target}`}
        aria-label={`Open: ${plainText(summary)}`}
        className="inline-flex items-center gap-1 text-sm font-medium text-accent hover:underline"
      >
        Open <ArrowRight aria-hidden="true" className="size-4" />
      </a>
    </li>
  );
}
