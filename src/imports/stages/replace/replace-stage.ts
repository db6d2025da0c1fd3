import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { Metadata } from '../../../stores/metadata/database.ts';
import { findRemovedRun } from '../../../stores/metadata/import-loads.ts';
import type { AdviceWords } from '../../run/advice-words.ts';
import { RunFailedError, type LeasedRun, type RunStage } from '../../run/leased-run.ts';
import { recordReplacement } from '../../run/record-replacement.ts';
import { getRun } from '../../run/run-store.ts';
import { resumeRun, RunTransitionError, undoRun } from '../../run/run-transitions.ts';
import type { Run } from '../../run/run.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import type { Staging } from '../../staging.ts';
import { assertCheckPassed, runsToReplace } from '../check/assert-check-passed.ts';
import { discardCheck } from '../check/check-stage.ts';
import { readCheck, readUndo } from '../report/read-results.ts';

interface ReplaceStageDeps {
  readonly db: Metadata;
  readonly staging: Staging;
  readonly clock: Clock;
  readonly failpoint: Failpoint;
  readonly words: AdviceWords;
  readonly earlier: EarlierRuns;
  /** Throws the reason if this number of events must not be loaded now. */
  readonly ready: (events: number) => Promise<void>;
  readonly check: RunStage;
  /** Interval of checking whether a run is undone, ms. Default 250. */
  readonly pollMs?: number;
}

interface Replacing extends ReplaceStageDeps {
  readonly leased: LeasedRun;
  readonly pollMs: number;
}

const pollMsDefault = 250;

/**
 * Undoes the runs that this one replaces, between its check and its load. They are decided once, as soon as nothing prevents the load,
 * and kept in the run's row (`totals.replaced`), so that any worker can continue with them. Each is undone by its own stage `undo`.
 *
 * | an earlier run is                  | what is done                                             |
 * | ---------------------------------- | -------------------------------------------------------- |
 * | completed, failed, cancelled       | its undo is requested and recorded in the activity log   |
 * | queued, running                    | waited for                                               |
 * | paused in `undo`                   | waited for until a user resumes it                       |
 * | failed in `undo`                   | resumed once; if it fails again, this run fails          |
 * | paused in another stage            | this run fails: a user must cancel that one first        |
 * | undone, deleted                    | done                                                     |
 */
export function createReplaceStage(deps: ReplaceStageDeps): RunStage {
  return async (leased) => {
    const replacing = { ...deps, leased, pollMs: deps.pollMs ?? pollMsDefault };
    const replaced = new Map(Object.entries(await decideRuns(replacing)));
    for (const id of replaced.keys()) {
      await undoEarlier(replacing, id);
      replaced.set(id, (await readUndo(deps.staging, id))?.plan.events ?? 0);
      await show(replacing, replaced);
      deps.failpoint('import_replaced_one');
    }
    leased.waiting(null);
    await leased.flush();
    if (await isCheckOutdated(replacing, [...replaced.keys()])) await checkAgain(replacing, replaced);
  };
}

/**
 * The check decided which links and group events the target already has on another day. An undo changes that when other runs load events
 * again, so the records are checked once more. No result means that such a check was interrupted.
 */
async function isCheckOutdated({ staging, leased }: Replacing, replaced: readonly string[]): Promise<boolean> {
  const check = await readCheck(staging, leased.run.id);
  if (check === undefined) return true;
  if (check.after_replacing !== undefined) return false;
  const undone = await Promise.all(replaced.map((id) => readUndo(staging, id)));
  return undone.some((undo) => undo !== undefined && undo.loaded_again.length > 0);
}

async function checkAgain({ staging, leased, check, failpoint }: Replacing, replaced: ReadonlyMap<string, number>) {
  const totals = { ...leased.run.totals, replaced: Object.fromEntries(replaced) };
  if ((await readCheck(staging, leased.run.id)) !== undefined) await discardCheck(staging, leased);
  failpoint('import_replace_check_discarded');
  await check({ ...leased, run: { ...leased.run, totals } });
}

/** Returns the runs to replace, with their events undone up to now. */
async function decideRuns(replacing: Replacing): Promise<Readonly<Record<string, number>>> {
  const { leased, staging, earlier, words } = replacing;
  const { options, totals } = leased.run;
  if (totals.replaced !== undefined) return totals.replaced;
  const check = await readCheck(staging, leased.run.id);
  if (check === undefined) throw new RunFailedError(`expected the result of the check, got none; ${words.startAgain}`);
  const { undone } = earlier;
  await assertCheckPassed(check, options, { undone, words });
  await replacing.ready(check.totals.events - (check.totals.rejected_events ?? 0) - check.duplicates);
  const same = check.same_records ?? [];
  const gone = await undone(same.map(({ run }) => run));
  const runs = runsToReplace(
    options,
    same.filter(({ run }) => !gone.has(run)),
  );
  await show(replacing, new Map(runs.map((run) => [run, 0])));
  replacing.failpoint('import_replace_decided');
  return Object.fromEntries(runs.map((run) => [run, 0]));
}

/** Shows progress, and saves it in the run's row before it returns. */
async function show({ leased }: Replacing, replaced: ReadonlyMap<string, number>): Promise<void> {
  const done = [...replaced.values()].reduce((sum, count) => sum + count, 0);
  const progress = { stage: 'replace', partsDone: 0, partsTotal: replaced.size, done, bytes: 0, rate: 0 } as const;
  leased.progress(progress, { replaced: Object.fromEntries(replaced) });
  await leased.flush();
}

async function undoEarlier(replacing: Replacing, id: string): Promise<void> {
  const { db, leased, pollMs, words } = replacing;
  let tries = 0;
  for (;;) {
    leased.signal.throwIfAborted();
    const run = await getRun(db, id, leased.run);
    if (run?.state === 'undone') return;
    if (run === undefined) return assertGone(replacing, id);
    if (run.stage === 'undo' && run.state === 'failed') {
      tries += 1;
      if (tries > 1) throw new RunFailedError(`run ${id} could not be undone: ${run.reason}; then ${words.resume}`);
      await steered(() => resumeRun(db, id));
    } else if (run.stage !== 'undo' && run.state === 'paused') {
      throw new RunFailedError(
        `expected run ${id}, which this one replaces, to have ended, got: paused; cancel it, then ${words.resume}`,
      );
    } else if (run.stage !== 'undo' && run.state !== 'queued' && run.state !== 'running') {
      await steered(() => requestUndo(replacing, run));
      replacing.failpoint('import_replace_requested');
    } else leased.waiting({ reason: waitingFor(run) });
    await delay(pollMs, undefined, { signal: leased.signal });
  }
}

/** Events of a removed run stay permanently; a run that is missing otherwise is gone with its project. */
async function assertGone({ db, leased, words }: Replacing, id: string): Promise<void> {
  if ((await findRemovedRun(db, id, leased.run)) === undefined) return;
  throw new RunFailedError(
    `expected run ${id}, which this one replaces, to exist, but old scheduled runs are removed: the events it loaded cannot be ` +
      `undone; to load these in addition, ${words.again}`,
  );
}

function waitingFor({ id, state, stage }: Run): string {
  if (stage !== 'undo') return `run ${id}, which this one replaces, is ${state}; it is undone when it has ended`;
  return state === 'paused'
    ? `the undo of run ${id}, which this one replaces, is paused; resume that run`
    : `run ${id}, which this one replaces, is being undone`;
}

async function requestUndo({ db, leased, clock }: Replacing, { id }: Run): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const undone = await undoRun(tx, id);
    await recordReplacement(tx, undone, leased.run.id, clock.now());
  });
}

/** The state of the run may have changed at the same moment; then it is read again. */
async function steered(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof RunTransitionError)) throw error;
  }
}
