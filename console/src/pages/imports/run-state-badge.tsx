import type { Tone } from '../../components/badge.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import type { Run, RunState } from './imports-query.ts';
import { isHeldByCheck } from './run-actions.ts';

const tones: Readonly<Record<RunState, Tone>> = {
  queued: 'neutral',
  running: 'info',
  paused: 'warn',
  failed: 'danger',
  cancelled: 'neutral',
  completed: 'ok',
  undone: 'neutral',
};

interface RunStateBadgeProps {
  readonly run: Pick<Run, 'state' | 'stage' | 'options' | 'check_problems' | 'totals'>;
}

export function RunStateBadge({ run }: RunStateBadgeProps) {
  if (isHeldByCheck(run) && run.totals.loaded === 0) return <StatusBadge tone="danger">Check failed</StatusBadge>;
  const word = run.state === 'completed' && run.options.last === 'check' ? 'checked' : run.state;
  return <StatusBadge tone={tones[run.state]}>{word}</StatusBadge>;
}
