import { Section } from '../../components/section.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import type { Status } from './status-query.ts';

/** After so long without a word it is gone; they report every two seconds. */
const silentSecondsMax = 10;

/** Where roles are split: who does what. */
export function ProcessesSection({ processes }: { readonly processes: Status['processes'] }) {
  return (
    <Section title="Processes" flush>
      <ul className="divide-y divide-line">
        {processes.map((process) => (
          <li key={process.name} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-2">
            {process.silent_seconds > silentSecondsMax ? (
              <StatusBadge tone="danger">silent</StatusBadge>
            ) : (
              <StatusBadge tone="ok">there</StatusBadge>
            )}
            <span className="text-sm font-medium">{process.roles.join(', ')}</span>
            <span className="min-w-0 text-xs text-soft">
              {process.name}, version {process.version}, started <TimeText time={process.started_at} form="ago" />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
