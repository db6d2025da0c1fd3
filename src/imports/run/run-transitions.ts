import { isoMicros } from '../../base/clock.ts';
import { inTransaction, type Queries } from '../../stores/metadata/queries.ts';
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

/** Which runs are replaced has to be said before any of them is taken back, and before the load begins. */
export class ReplaceLateError extends Error {
  override name = 'ReplaceLateError';

  constructor({ id, totals }: Run) {
    const done = totals.replaced === undefined ? 'has begun to load' : 'has begun to take back what it replaces';
    super(`expected "replace" before run ${id} loads, got it when the run ${done}; undo it and start another one`);
  }
}

export class RunMissingError extends Error {
  override name = 'RunMissingError';
}

/** A worker that holds it finds out at its next step. Errors of this and what follows: RunTransitionError, RunMissingError. */
export function pauseRun(db: Queries, id: string, reason = 'paused by a person'): Promise<Run> {
  return change(db, id, 'pause', () => ({ reason, waiting: null, lease_until: null }));
}

/** What may be changed at a resume. */
export type ResumeChanges = Partial<
  Pick<RunOptions, 'rejectedMax' | 'last' | 'eventsPerSecond' | 'again' | 'replace' | 'target'>
>;

/**
 * Goes on in the stage where it was. A run that was to be checked only goes on with what follows, unless told otherwise; one that
 * is told only now which runs it replaces is checked once more, as if nothing of those were stored.
 */
export function resumeRun(db: Queries, id: string, changes: ResumeChanges = {}): Promise<Run> {
  if (changes.replace !== undefined) return resumeReplacing(db, id, changes);
  return change(db, id, 'resume', resumed(changes));
}

function resumed(changes: ResumeChanges): (run: Run) => Changed {
  return (run) => {
    const checkedOnly = run.state === 'completed';
    const last = changes.last ?? (checkedOnly ? 'report' : run.options.last);
    // A run that was paused beyond the check cannot go back to end there.
    const beyond = last === 'check' && ['replace', 'load', 'verify', 'report'].includes(run.stage);
    const options = { ...run.options, ...defined(changes), last: beyond ? run.options.last : last };
    const next = options.replace === undefined ? 'load' : 'replace';
    const stage = checkedOnly && last === 'report' ? next : run.stage;
    return { ...queued, stage, options: JSON.stringify(options) };
  };
}

function resumeReplacing(db: Queries, id: string, changes: ResumeChanges): Promise<Run> {
  return resumeChecking(db, id, changes, (before) => {
    if (before.totals.replaced !== undefined || before.totals.loaded > 0) throw new ReplaceLateError(before);
  });
}

/** The same, and what is staged is checked once more. `judge` may throw. */
export function resumeChecking(
  db: Queries,
  id: string,
  changes: ResumeChanges,
  judge: (before: Run) => void = () => {},
): Promise<Run> {
  return inTransaction(db, async (tx) => {
    const run = await change(tx, id, 'resume', (before) => {
      judge(before);
      const to = resumed(changes)(before);
      const isChecked = before.stage !== 'export';
      return { ...to, ...(isChecked && { stage: 'check', progress: withoutChecked(before) }) };
    });
    if (run.stage === 'check') await forgetChecked(tx, id);
    return run;
  });
}

function withoutChecked({ progress }: Run): string {
  return JSON.stringify({ export: progress.export });
}

/** What is staged of the source stays, and is checked from its first record on. */
async function forgetChecked(tx: Queries, id: string): Promise<void> {
  await tx.updateTable('import_parts').set({ checked: 0, check_state: '' }).where('run_id', '=', id).execute();
  await tx.deleteFrom('import_days').where('run_id', '=', id).execute();
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
      progress: withoutChecked(before),
    }));
    await forgetChecked(tx, id);
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

const queued = { reason: '', waiting: null, lease_until: null, finished_at: null, deaths: null } as const;

interface Changed {
  readonly stage?: string;
  readonly reason: string;
  readonly waiting: null;
  readonly options?: string;
  readonly progress?: string;
  readonly retries?: number;
  readonly lease_until: null;
  readonly finished_at?: string | null;
  /** Who takes it up again wants it tried again. */
  readonly deaths?: null;
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
      .set({ ...to(run), state: stateAfter(action, run.state), ...(run.options.scheduled && { kept: 'long' }) })
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
