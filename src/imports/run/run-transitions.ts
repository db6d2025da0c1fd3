import { isoMicros } from '../../base/clock.ts';
import { inTransaction, type Queries } from '../../stores/metadata/queries.ts';
import { parseChoice } from '../choosing/parse-choice.ts';
import type { ImportRules } from '../../wire/contract/import-choice.ts';
import { runColumns, toRun } from './run-rows.ts';
import { allowedActions, stateAfter, type Run, type RunAction, type RunOptions, type RunState } from './run.ts';

/** Returns the action as the API and the guide call it. */
function shownAction(action: RunAction): string {
  return action === 'retry' ? 'retry_rejected' : action;
}

/** The run's state does not allow the action. The message names the state and the allowed actions. */
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

interface RefusedAction {
  readonly run: Run;
  readonly action: RunAction;
  readonly allowed: readonly RunAction[];
}

/** `shown` translates an action for the reader. */
export function refusedText({ run, action, allowed }: RefusedAction, shown: (action: RunAction) => string): string {
  const instead =
    allowed.length === 0 ? 'no action is possible any more' : `possible: ${allowed.map(shown).join(', ')}`;
  const removed = run.stagingRemovedAt === null ? '' : ' and its staged records are removed';
  return `expected a run for which "${shown(action)}" is possible, got one that is ${run.state}${removed}; ${instead}`;
}

/** The runs to replace must be named before any of them is undone, and before the load begins. */
export class ReplaceLateError extends Error {
  override name = 'ReplaceLateError';

  constructor({ id, totals }: Run) {
    const done = totals.replaced === undefined ? 'has begun to load' : 'has begun to undo the runs that it replaces';
    super(`expected "replace" before run ${id} loads, got it when the run ${done}; undo it and start another one`);
  }
}

/** Loaded events must not get other rules than the rest. */
export class RulesLateError extends Error {
  override name = 'RulesLateError';
}

export class RunMissingError extends Error {
  override name = 'RunMissingError';
}

/** Pauses a run; its worker stops at its next step. Throws RunTransitionError or RunMissingError, like the functions below. */
export function pauseRun(db: Queries, id: string, reason = 'paused by a user'): Promise<Run> {
  return change(db, id, 'pause', () => ({ reason, waiting: null, lease_until: null }));
}

/** Options that a resume can change. */
export type ResumeChanges = Partial<
  Pick<RunOptions, 'rejectedMax' | 'last' | 'eventsPerSecond' | 'again' | 'replace' | 'target'>
> & {
  /** Merged into the choice; the staged records are checked again. */
  readonly rules?: ImportRules;
};

/**
 * Continues in the stage where the run was. A run that was only to be checked continues with the following stages, unless `changes` says
 * otherwise; one that now gets `replace` is checked again as if the replaced events were not stored, one with `rules` with these rules.
 */
export function resumeRun(db: Queries, id: string, changes: ResumeChanges = {}): Promise<Run> {
  if (changes.rules !== undefined) return resumeChecking(db, id, changes, assertNothingLoaded);
  if (changes.replace !== undefined) return resumeReplacing(db, id, changes);
  return change(db, id, 'resume', resumed(changes));
}

function resumed({ rules, ...others }: ResumeChanges): (run: Run) => Changed {
  return (run) => {
    const checkedOnly = run.state === 'completed';
    const last = others.last ?? (checkedOnly ? 'report' : run.options.last);
    // A run that was paused after its check cannot go back and end there.
    const beyond =
      last === 'check' && rules === undefined && ['replace', 'load', 'verify', 'report'].includes(run.stage);
    const choice = rules === undefined ? run.options.choice : parseChoice({ ...run.options.choice, ...rules });
    const options = { ...run.options, ...defined(others), choice, last: beyond ? run.options.last : last };
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

function assertNothingLoaded({ id, totals }: Run): void {
  if (totals.replaced === undefined && totals.loaded === 0) return;
  throw new RulesLateError(`expected "rules" before run ${id} loads; undo it and start another run with these rules`);
}

/** Resumes the run and checks its staged records again. `assertPossible` may throw. */
export function resumeChecking(
  db: Queries,
  id: string,
  changes: ResumeChanges,
  assertPossible: (before: Run) => void = () => {},
): Promise<Run> {
  return inTransaction(db, async (tx) => {
    const run = await change(tx, id, 'resume', (before) => {
      assertPossible(before);
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

/** Keeps the staged records, which are checked from the first one on. */
async function forgetChecked(tx: Queries, id: string): Promise<void> {
  await tx.updateTable('import_parts').set({ checked: 0, check_state: '' }).where('run_id', '=', id).execute();
  await tx.deleteFrom('import_days').where('run_id', '=', id).execute();
}

/** Cancels a run permanently. Loaded events remain. */
export function cancelRun(db: Queries, id: string, now: number): Promise<Run> {
  return change(db, id, 'cancel', () => ({
    reason: 'cancelled by a user',
    waiting: null,
    lease_until: null,
    finished_at: isoMicros(now),
  }));
}

/**
 * Checks, loads and verifies everything staged again, so that rejected records are loaded if that is possible now; events that the
 * target has already are not sent again.
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

/** Compares stored with staged events again, and writes a new report. */
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

/** Queues the run for a worker that deletes what it loaded. The run's target is this service's own project. */
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
  /** A resumed run is tried again. */
  readonly deaths?: null;
}

/** Applies a change if the run's state is unchanged since it was read; otherwise reads it again. */
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
