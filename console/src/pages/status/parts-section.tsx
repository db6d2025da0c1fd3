import { Section } from '../../components/section.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { UserText } from '../../components/user-text.tsx';
import type { Status } from './status-query.ts';

/** What the service consists of, what is unwell first. */
export function PartsSection({ parts }: { readonly parts: Status['parts'] }) {
  const sorted = parts.toSorted((a, b) => Number(a.ok) - Number(b.ok) || a.name.localeCompare(b.name));
  return (
    <Section title="Parts" flush>
      <ul className="divide-y divide-line">
        {sorted.map((part) => (
          <li key={part.name} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-2">
            <PartBadge part={part} />
            <span className="text-sm font-medium">{part.name.replaceAll('_', ' ')}</span>
            <span className="min-w-0 text-xs text-soft">
              <UserText text={part.detail} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function PartBadge({ part }: { readonly part: Status['parts'][number] }) {
  if (part.ok) return <StatusBadge tone="ok">ok</StatusBadge>;
  return <StatusBadge tone={part.required ? 'danger' : 'warn'}>{part.required ? 'down' : 'unwell'}</StatusBadge>;
}
