import { importVerdicts } from '../../../src/wire/contract/import-run-states.ts';
import type { ImportRunRecord } from '../../../src/wire/contract/import-runs.ts';
import type { Tone } from './badge.tsx';
import { StatusBadge } from './status-badge.tsx';

const tones: Readonly<Record<ImportRunRecord['state'], Tone>> = {
  queued: 'neutral',
  running: 'info',
  paused: 'warn',
  failed: 'danger',
  cancelled: 'neutral',
  completed: 'ok',
  undone: 'neutral',
};

interface RunStateBadgeProps {
  readonly run: Pick<ImportRunRecord, 'state' | 'stage' | 'options' | 'check_problems' | 'totals'>;
}

/** Shows the state of a run, or its verdict if it has completed. */
export function RunStateBadge({ run }: RunStateBadgeProps) {
  if (isHeldByCheck(run) && run.totals.loaded === 0) return <StatusBadge tone="danger">Check failed</StatusBadge>;
  const { state, options, totals } = run;
  if (state !== 'completed') return <StatusBadge tone={tones[state]}>{state}</StatusBadge>;
  if (options.last === 'check') return <StatusBadge tone="ok">checked</StatusBadge>;
  const verdict = totals.verdict === null ? undefined : importVerdicts[totals.verdict];
  return <StatusBadge tone={verdict?.tone ?? 'ok'}>{verdict?.label ?? 'completed'}</StatusBadge>;
}

/** Tells whether the run can still change: it is queued, running or paused. */
export function isUnfinished(state: ImportRunRecord['state']): boolean {
  return state === 'queued' || state === 'running' || state === 'paused';
}

type Held = Pick<ImportRunRecord, 'state' | 'stage' | 'options' | 'check_problems'>;

/** Tells whether the run stopped because the check found problems or the target rejected too many events. */
export function isHeldByCheck({ state, stage, options, check_problems: problems }: Held): boolean {
  if ((problems ?? []).length === 0) return false;
  return (state === 'completed' && options.last === 'check') || (state === 'failed' && stage !== 'undo');
}
