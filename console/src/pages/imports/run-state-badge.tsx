import type { Tone } from '../../components/badge.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import type { Run, RunState } from './imports-query.ts';

const tones: Readonly<Record<RunState, Tone>> = {
  queued: 'neutral',
  running: 'info',
  paused: 'warn',
  failed: 'danger',
  cancelled: 'neutral',
  completed: 'ok',
  undone: 'neutral',
};

export function RunStateBadge({ run }: { readonly run: Pick<Run, 'state' | 'options'> }) {
  const word = run.state === 'completed' && run.options.last === 'check' ? 'checked' : run.state;
  return <StatusBadge tone={tones[run.state]}>{word}</StatusBadge>;
}
