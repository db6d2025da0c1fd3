import type { Run, RunState } from './imports-query.ts';

export type RunAction = 'pause' | 'resume' | 'load' | 'promote' | 'retry_rejected' | 'verify' | 'cancel' | 'undo';

type Steered = Pick<Run, 'state' | 'stage' | 'options' | 'totals'>;

/** Worked on, or waiting for somebody: its record changes by itself. */
export function isUnfinished(state: RunState): boolean {
  return state === 'queued' || state === 'running' || state === 'paused';
}

/** What is offered for a run, the next step first. The service refuses whatever has become impossible meanwhile. */
export function actionsOf(run: Steered): readonly RunAction[] {
  const found = byState(run);
  if (run.stage === 'undo') return found.filter((action) => action === 'pause' || action === 'resume');
  return run.options.target.kind === 'project' ? found : found.filter((action) => action !== 'undo');
}

function byState({ state, options, totals }: Steered): RunAction[] {
  switch (state) {
    case 'queued':
    case 'running':
      return ['pause', 'cancel'];
    case 'paused':
      return ['resume', 'cancel'];
    case 'failed':
      return ['resume', 'cancel', 'undo'];
    case 'cancelled':
      return ['undo'];
    case 'undone':
      return [];
    case 'completed':
      return completed({ options, totals });
  }
}

function completed({ options, totals }: Pick<Steered, 'options' | 'totals'>): RunAction[] {
  if (options.last === 'check') return ['load'];
  const trial: RunAction[] = options.limit === null ? [] : ['promote'];
  const retry: RunAction[] = totals.rejected > 0 ? ['retry_rejected'] : [];
  return [...trial, ...retry, 'verify', 'undo'];
}
