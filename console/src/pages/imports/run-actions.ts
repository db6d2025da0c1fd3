import { isHeldByCheck } from '../../components/run-state-badge.tsx';
import type { Run } from './imports-query.ts';

export type RunAction =
  | 'pause'
  | 'resume'
  | 'load'
  | 'skip_rejected'
  | 'load_in_addition'
  | 'promote'
  | 'retry_rejected'
  | 'verify'
  | 'cancel'
  | 'undo';

type ActionRun = Pick<Run, 'state' | 'stage' | 'options' | 'totals' | 'check_problems' | 'command'>;

/** Returns the actions to offer for a run, the most likely first. The API refuses those that have become impossible. */
export function actionsOf(run: ActionRun): readonly RunAction[] {
  const found = byState(run).filter((action) => run.command === null || commandRunActions.has(action));
  if (run.stage === 'undo') return found.filter((action) => action === 'pause' || action === 'resume');
  return run.options.target.kind === 'project' ? found : found.filter((action) => action !== 'undo');
}

/** Actions that do not need the records, which are stored where the command runs. */
const commandRunActions: ReadonlySet<RunAction> = new Set(['pause', 'cancel', 'undo']);

function byState(run: ActionRun): RunAction[] {
  const { state, totals } = run;
  switch (state) {
    case 'queued':
    case 'running':
      return ['pause', 'cancel'];
    case 'paused':
      return ['resume', 'cancel'];
    case 'failed':
      if (!isHeldByCheck(run)) return ['resume', 'cancel', 'undo'];
      // Before the load there is nothing to undo.
      return [...resolutions(run), 'cancel', ...(totals.loaded > 0 ? (['undo'] as const) : [])];
    case 'cancelled':
      return ['undo'];
    case 'undone':
      return [];
    case 'completed':
      return completed(run);
  }
}

function completed(run: ActionRun): RunAction[] {
  const { options, totals } = run;
  if (options.last === 'check') return isHeldByCheck(run) ? resolutions(run) : ['load'];
  const trial: RunAction[] = options.limit === null ? [] : ['promote'];
  const retry: RunAction[] = totals.rejected > 0 ? ['retry_rejected'] : [];
  return [...trial, ...retry, 'verify', 'undo'];
}

/** Returns the action that lets the run load; none if only other rules or another source help. */
function resolutions({ check_problems: problems }: Pick<ActionRun, 'check_problems'>): RunAction[] {
  const has = new Set(problems);
  if (has.has('no_events') || has.has('unclear_replace')) return [];
  return [has.has('stored_before') ? 'load_in_addition' : 'skip_rejected'];
}

/** Builds the resume request that loads a checked run, with the options that its check requires. */
export function loadBody(run: ActionRun): object {
  const problems = run.check_problems ?? [];
  return {
    last: 'report',
    ...(problems.includes('too_many_rejected') && { rejected_max: neededTolerance(run.totals) }),
    ...(problems.includes('stored_before') && { again: true }),
  };
}

/** Returns the share of records that must be tolerated, rounded up. */
function neededTolerance({ records, rejected }: Pick<Run['totals'], 'records' | 'rejected'>): number {
  return records === 0 ? 1 : Math.min(1, Math.ceil((rejected / records) * 10_000) / 10_000);
}
