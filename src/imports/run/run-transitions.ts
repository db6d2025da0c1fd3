import { isoMicros } from '../../base/clock.ts';
import { inTransaction, type Queries } from '../../metadata/queries.ts';
import { runColumns, toRun } from './run-rows.ts';
import { allowedActions, stateAfter, type Run, type RunAction, type RunOptions, type RunState } from './run.ts';

/** As the API and the guide call it. */
function shownAction(action: RunAction): string {
  return action === 'retry' ? 'retry_rejected' : action;
}

/** The run is not in a state where that is possible. The message tells which it is in and what is possible. */
export class RunTransitionError extends Error {
  override name = 'RunTransitionError';
  readonly state: RunState;
  readonly allowed: readonly RunAction[];
  readonly refused: RefusedAction;

  constructor(refused: RefusedAction) {
    super(refusedText(refused, shownAction));
    this.state = refused.run.state;
    this.allowed = refused.allowed;
    this.refused = refused;
  }
}

export interface RefusedAction {
  readonly run: Run;
  readonly action: RunAction;
  readonly allowed: readonly RunAction[];
}

/** `shown`: as the reader knows the action. */
export function refusedText({ run, action, allowed }: RefusedAction, shown: (action: RunAction) => string): string {
  const instead =
    allowed.length === 0 ? 'nothing can be done with it any more' : `possible: ${allowed.map(shown).join(', ')}`;
  const removed = run.stagingRemovedAt === null ? '' : ' and its staged records are removed';
  return `expected a run for which "${shown(action)}" is possible, got one that is ${run.state}${removed}; ${instead}`;
}

export class RunMissingError extends Error {
  override name = 'RunMissingError';
}

/** A worker that holds it finds out at its next step. Errors of this and what follows: RunTransitionError, RunMissingError. */
export function pauseRun(db: Queries, id: string, reason = 'paused by a person'): Promise<Run> {
  return change(db, id, 'pause', () => ({ reason, waiting: null, lease_until: null }));
}

/** What may be changed at a resume. */
export type ResumeChanges = Partial<Pick<RunOptions, 'rejectedMax' | 'last' | 'eventsPerSecond' | 'again'>>;

/** Goes on in the stage where it was. A run that was to be checked only goes on with the load, unless told otherwise. */
export function resumeRun(db: Queries, id: string, changes: ResumeChanges = {}): Promise<Run> {
  return change(db, id, 'resume', (run) => {
    const checkedOnly = run.state === 'completed';
    const last = changes.last ?? (checkedOnly ? 'report' : run.options.last);
    // A run that was paused beyond the check cannot go back to end there.
    const beyond = last === 'check' && ['load', 'verify', 'report'].includes(run.stage);
    const options = { ...run.options, ...defined(changes), last: beyond ? run.options.last : last };
    const stage = checkedOnly && last === 'report' ? 'load' : run.stage;
    return { ...queued, stage, options: JSON.stringify(options) };
  });
}

/** For good. What was loaded stays. */
export function cancelRun(db: Queries, id: string, now: number): Promise<Run> {
  return change(db, id, 'cancel', () => ({
    reason: 'cancelled by a person',
    waiting: null,
    lease_until: null,
    finished_at: isoMicros(now),
  }));
}

/**
 * Everything staged is checked, loaded and verified anew, so that what was rejected gets in where it now can; what the
 * target has already is not sent again.
 */
export function retryRejected(db: Queries, id: string): Promise<Run> {
  return inTransaction(db, async (tx) => {
    const run = await change(tx, id, 'retry', (before) => ({
      ...queued,
      stage: 'check',
      retries: before.retries + 1,
      progress: JSON.stringify({ export: before.progress.export }),
    }));
    await tx.updateTable('import_parts').set({ checked: 0, check_state: '' }).where('run_id', '=', id).execute();
    await tx.deleteFrom('import_days').where('run_id', '=', id).execute();
    return run;
  });
}

/** Compares what is stored with what was staged once more, and reports anew. */
export function verifyAgain(db: Queries, id: string): Promise<Run> {
  return inTransaction(db, async (tx) => {
    const run = await change(tx, id, 'verify', ({ progress }) => ({
      ...queued,
      stage: 'verify',
      progress: JSON.stringify({ ...progress, verify: undefined, report: undefined }),
    }));
    await tx.updateTable('import_days').set({ verified: 0 }).where('run_id', '=', id).execute();
    return run;
  });
}

/** What it loaded is taken back by a worker. The run's target is this service's own project. */
export function undoRun(db: Queries, id: string): Promise<Run> {
  return change(db, id, 'undo', ({ progress }) => ({
    ...queued,
    stage: 'undo',
    progress: JSON.stringify({ ...progress, undo: undefined }),
  }));
}

const queued = { reason: '', waiting: null, lease_until: null, finished_at: null } as const;

interface Changed {
  readonly stage?: string;
  readonly reason: string;
  readonly waiting: null;
  readonly options?: string;
  readonly progress?: string;
  readonly retries?: number;
  readonly lease_until: null;
  readonly finished_at?: string | null;
}

/** Guarded by the state that was read: whoever else changed it meanwhile is looked at again. */
async function change(db: Queries, id: string, action: RunAction, to: (run: Run) => Changed): Promise<Run> {
  for (;;) {
    const row = await db.selectFrom('import_runs').select(runColumns).where('id', '=', id).executeTakeFirst();
    if (row === undefined) throw new RunMissingError(`expected an import run ${id}, got none with this id`);
    const run = toRun(row);
    const allowed = allowedActions(run);
    if (!allowed.includes(action)) throw new RunTransitionError({ run, action, allowed });
    const after = await db
      .updateTable('import_runs')
      .set({ ...to(run), state: stateAfter(action, run.state) })
      .where('id', '=', id)
      .where('state', '=', run.state)
      .where('stage', '=', run.stage)
      .where('retries', '=', run.retries)
      .returning(runColumns)
      .executeTakeFirst();
    if (after !== undefined) return toRun(after);
  }
}

function defined(changes: ResumeChanges): ResumeChanges {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}
