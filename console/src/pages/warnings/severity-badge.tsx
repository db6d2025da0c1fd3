import { StatusBadge } from '../../components/status-badge.tsx';
import type { Warning } from './warnings-query.ts';

const tones = { error: 'danger', warning: 'warn', info: 'info' } as const;

export function SeverityBadge({ severity }: { readonly severity: Warning['severity'] }) {
  return <StatusBadge tone={tones[severity]}>{severity}</StatusBadge>;
}
