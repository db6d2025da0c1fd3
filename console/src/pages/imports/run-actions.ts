import { isHeldByCheck } from '../../components/run-state-badge.tsx';
import type { Run } from './imports-query.ts';

export type RunAction =
  | 'pause'
  | 'resume'
  | 'load'
  | 'skip_rejected'
  | 'load_beside'
  | 'promote'
  | 'retry_rejected'
  | 'verify'
  | 'cancel'
  | 'undo';

type Steered = Pick<Run, 'state' | 'stage' | 'options' | 'totals' | 'check_problems' | 'command'>;

/** What is offered for a run, the next step first. The service refuses whatever has become impossible meanwhile. */
export function actionsOf(run: Steered): readonly RunAction[] {
  const found = byState(run).filter((action) => run.command === null || ofCommandRun.has(action));
  if (run.stage === 'undo') return found.filter((action) => action === 'pause' || action === 'resume');
  return run.options.target.kind === 'project' ? found : found.filter((action) => action !== 'undo');
}

/** The records of a run of the command line are where its command is. */
const ofCommandRun: ReadonlySet<RunAction> = new Set(['pause', 'cancel', 'undo']);

function byState(run: Steered): RunAction[] {
  const { state, totals } = run;
  switch (state) {
    case 'queued':
    case 'running':
      return ['pause', 'cancel'];
    case 'paused':
      return ['resume', 'cancel'];
    case 'failed':
      if (!isHeldByCheck(run)) return ['resume', 'cancel', 'undo'];
      // Before the load there is nothing to take back.
      return [...held(run), 'cancel', ...(totals.loaded > 0 ? (['undo'] as const) : [])];
    case 'cancelled':
      return ['undo'];
    case 'undone':
      return [];
    case 'completed':
      return completed(run);
  }
}

function completed(run: Steered): RunAction[] {
  const { options, totals } = run;
  if (options.last === 'check') return isHeldByCheck(run) ? held(run) : ['load'];
  const trial: RunAction[] = options.limit === null ? [] : ['promote'];
  const retry: RunAction[] = totals.rejected > 0 ? ['retry_rejected'] : [];
  return [...trial, ...retry, 'verify', 'undo'];
}

/** What lets it load; nothing where only other rules or another source help. */
function held({ check_problems: problems }: Pick<Steered, 'check_problems'>): RunAction[] {
  const has = new Set(problems);
  if (has.has('no_events') || has.has('unclear_replace')) return [];
  return [has.has('stored_before') ? 'load_beside' : 'skip_rejected'];
}

/** The body of the resume that loads what was checked: with everything that its check needs for it. */
export function loadBody(run: Steered): object {
  const problems = run.check_problems ?? [];
  return {
    last: 'report',
    ...(problems.includes('too_many_rejected') && { rejected_max: neededTolerance(run.totals) }),
    ...(problems.includes('stored_before') && { again: true }),
  };
}

/** Share of the records that has to be permitted, rounded up. */
export function neededTolerance({ records, rejected }: Pick<Run['totals'], 'records' | 'rejected'>): number {
  return records === 0 ? 1 : Math.min(1, Math.ceil((rejected / records) * 10_000) / 10_000);
}
