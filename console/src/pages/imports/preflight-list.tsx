import { StatusBadge } from '../../components/status-badge.tsx';
import { UserText } from '../../components/user-text.tsx';
import type { Preflight } from './imports-query.ts';

const tones = { problem: 'danger', warning: 'warn', fine: 'ok' } as const;

/** The findings of a preflight, problems first. */
export function PreflightList({ preflight }: { readonly preflight: Preflight }) {
  return (
    <ul className="divide-y divide-line">
      {preflight.findings.map(({ check, level, message, advice }, index) => (
        <li key={index} className="flex flex-wrap gap-x-3 gap-y-1 px-4 py-2 text-sm">
          <span className="w-24 shrink-0">
            <StatusBadge tone={tones[level]}>{level}</StatusBadge>
          </span>
          <span className="w-28 shrink-0 text-soft">{check.replaceAll('_', ' ')}</span>
          <span className="min-w-48 flex-1">
            <UserText text={message} />
            {advice !== null && (
              <span className="block font-medium">
                <UserText text={advice} />
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
