import { counted } from '../../../base/integer-text.ts';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import { repeat } from '../../../base/repeat.ts';
import { StoreUnavailableError, type EventStore, type RunDays } from '../../../stores/events/eventstore.ts';
import { cellKey, countRunRows, monthsOfProject, shownCells } from '../../../stores/events/run-rows.ts';
import type { Metadata } from '../../../stores/metadata/database.ts';
import { loadsOf } from '../../../stores/metadata/import-loads.ts';
import {
  addRebuildKeys,
  beginRebuild,
  countRebuildKeys,
  findRebuild,
  saveRebuild,
  type Rebuild,
} from '../../../stores/metadata/profile-rebuilds.ts';
import { RunFailedError, type LeasedRun, type RunStage } from '../../run/leased-run.ts';
import { getRun } from '../../run/run-store.ts';
import { findLoadingRun } from '../../run/other-runs.ts';
import type { OtherRun, UndoCell, UndoResult } from '../../run/results.ts';
import type { Waiting } from '../../run/run.ts';
import { retryRejected, RunMissingError, RunTransitionError } from '../../run/run-transitions.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import { TargetWaitError, type Target } from '../../target.ts';
import { incompleteException, readStored, type ConcernedSink } from './plan-undo.ts';
import { detailOf, type UndoDetail } from './undo-detail.ts';
import { eventsAgain, shareLeft, showLeft, showUndone } from './undo-progress.ts';
import { readRunRows } from '../../run/run-rows.ts';
import { readReport } from '../report/read-results.ts';
import { makeReport } from '../report/report-stage.ts';
import { reportPage } from '../report/report-page.ts';

interface UndoStageDeps {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly staging: Staging;
  readonly clock: Clock;
  readonly failpoint: Failpoint;
  /** Resolves when everything that was delivered can be read back. */
  readonly settled: Target['settled'];
  /** Interval of checking whether other runs are done, ms. Default 250. */
  readonly pollMs?: number;
  /** Interval of counting the remaining rows during deletes, ms. Default 5000. */
  readonly countMs?: number;
}

interface Undo extends UndoStageDeps {
  readonly leased: LeasedRun;
  readonly pollMs: number;
  readonly countMs: number;
}

const pollMsDefault = 250;
const countMsDefault = 5000;
const deletesMax = 3;
const cellsShownMax = 10_000;

/**
 * Undoes what a run stored, step by step; every step can be repeated.
 * 1. Wait until none of its events is in flight and no other run loads.
 * 2. Record the affected ids before anything is deleted.
 * 3. Delete its rows. Rows of others with the same events become visible.
 * 4. Let runs that share events with it load them again, the oldest first, and wait for each.
 * 5. The pipeline rebuilds persons and groups from the remaining events (src/pipeline/rebuild).
 * 6. Count the store once more and write the result into the report.
 */
export function createUndoStage(deps: UndoStageDeps): RunStage {
  return async (leased) => {
    try {
      const { pollMs = pollMsDefault, countMs = countMsDefault } = deps;
      await undoRows({ ...deps, leased, pollMs, countMs });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      throw new TargetWaitError('the event store is busy or cannot be reached', { cause: error });
    }
  };
}

async function undoRows(undo: Undo): Promise<void> {
  const { failpoint, leased } = undo;
  const detail = await recordDetail(undo);
  failpoint('undo_recorded');
  await deleteRows(undo, detail);
  failpoint('undo_deleted');
  const loadedAgain = await loadOthersAgain(undo, detail);
  failpoint('undo_others_loaded');
  await rebuildPersons(undo);
  const rebuild = await waitForRebuild(undo, detail);
  failpoint('undo_rebuilt');
  const result = await reconcile(undo, { ...detail, loadedAgain }, rebuild);
  await writeUndo(undo, leased, result);
  failpoint('undo_reported');
  showUndone(leased, detail, undo.clock.now());
  await leased.flush();
}

async function recordDetail(undo: Undo): Promise<UndoDetail> {
  const { db, leased, clock } = undo;
  const { id, projectId } = leased.run;
  const known = detailOf(await findRebuild(db, id));
  if (known !== undefined) return known;
  await waitForExclusive(undo);
  await undo.settled(leased.signal);
  await beginRebuild(db, { id, projectId, detail: null, now: clock.now() });
  const { cells, plan } = await readStored(undo, leased.run, keysInto(undo));
  const keys = await countRebuildKeys(db, id);
  const again = await loadedEvents(undo, plan.other_runs);
  leased.signal.throwIfAborted();
  const detail: UndoDetail = { cells, plan: { ...plan, distinct_ids: keys.person, persons: null }, again };
  await saveRebuild(db, id, { detail });
  return detail;
}

/** Returns the events of those runs that will load again. */
async function loadedEvents({ db }: Undo, others: readonly OtherRun[]): Promise<Readonly<Record<string, number>>> {
  const events: Record<string, number> = {};
  for (const { id, what } of others) {
    if (what === 'loads_again') events[id] = Math.max(1, (await getRun(db, id))?.totals.loaded ?? 0);
  }
  return events;
}

function keysInto({ db, leased }: Undo): ConcernedSink {
  const { run, signal } = leased;
  return {
    distinctIds: async (ids) => {
      signal.throwIfAborted();
      await db.transaction().execute((tx) => addRebuildKeys(tx, run, 'person', ids));
    },
    groups: async (groups, types) => {
      const keys = groups.map(({ type, key }) => JSON.stringify([type, key]));
      await addRebuildKeys(db, run, 'group', keys);
      await addRebuildKeys(db, run, 'group_type', types);
    },
  };
}

/** Another run that loads might find an event stored that this undo deletes a moment later. */
async function waitForExclusive({ db, leased, pollMs }: Undo): Promise<void> {
  const days = new Set((await leased.days()).map(({ day }) => day));
  for (;;) {
    const other = await findLoadingRun(db, leased.run, days);
    if (other === undefined) return leased.waiting(null);
    leased.waiting({ reason: `run ${other} is loading events of the same days; the undo starts when it has finished` });
    await delay(pollMs, undefined, { signal: leased.signal });
  }
}

async function deleteRows(undo: Undo, detail: UndoDetail): Promise<void> {
  const { leased } = undo;
  const { id: runId, projectId } = leased.run;
  for (let tries = 0; ; tries += 1) {
    const left = await showRowsLeft(undo, detail);
    if (left === 0) return;
    if (tries === deletesMax) {
      throw new RunFailedError(
        `expected no events of the run after ${deletesMax} deletes, got ${left}: more are being stored; ` +
          'wait for replays of dead letters of the run to end, then resume',
      );
    }
    leased.signal.throwIfAborted();
    const days = detail.cells.map(({ day }) => day).sort();
    const [from = firstDay, to = lastDay] = tries === 0 ? [days[0], days.at(-1)] : [firstDay, lastDay];
    await deleteShown(undo, detail, { projectId, runId, from, to });
  }
}

/** Deletes rows, and shows the progress and what the delete waits for. */
async function deleteShown(undo: Undo, detail: UndoDetail, rows: RunDays): Promise<void> {
  const { store, leased, countMs } = undo;
  let waits: Waiting | undefined;
  const onWait = (reason: string): void => {
    waits = { reason };
    leased.waiting(waits);
  };
  const count = async (): Promise<void> => {
    await showRowsLeft(undo, detail);
    // Progress clears the reason, which still applies.
    if (waits !== undefined) leased.waiting(waits);
  };
  const over = new AbortController();
  const counting = repeat(countMs, count, {
    signal: AbortSignal.any([over.signal, leased.signal]),
    onTrouble: () => onWait('the event store is too busy to count the remaining rows of the run'),
  });
  try {
    await store.deleteRun(rows, { signal: leased.signal, onWait });
  } finally {
    over.abort();
    await counting;
  }
  leased.waiting(null);
}

async function showRowsLeft(undo: Undo, detail: UndoDetail): Promise<number> {
  const { rows, months } = await rowsLeft(undo);
  showLeft(undo.leased, detail, { rows, months, again: eventsAgain(detail), ids: detail.plan.distinct_ids });
  return rows;
}

/** Limits of the table's column. */
const firstDay = '1900-01-01';
const lastDay = '2299-12-31';

/** Counts remaining rows, and the months that have any. */
async function rowsLeft({ store, leased }: Undo): Promise<{ readonly rows: number; readonly months: number }> {
  const { id: runId, projectId } = leased.run;
  const counts: number[] = [];
  for (const month of await monthsOfProject(store, projectId)) {
    counts.push(await countRunRows(store, { projectId, runId, month }));
  }
  return { rows: counts.reduce((sum, count) => sum + count, 0), months: counts.filter((count) => count > 0).length };
}

/**
 * Lets the other runs load again one after another, in the order in which they were created: a run does not send what the store has, so
 * the first of them stores the events that they share, as in a project without the undone run. Returns those that were queued.
 */
async function loadOthersAgain(undo: Undo, detail: UndoDetail): Promise<readonly string[]> {
  // The plan lists the newest first.
  const others = detail.plan.other_runs
    .filter(({ what }) => what === 'loads_again' || what === 'at_work')
    .map(({ id }) => id)
    .toReversed();
  let { loadedAgain = [] } = detail;
  const asked = new Set(detail.asked ?? (detail.loadedAgain === undefined ? [] : others));
  for (const [index, id] of others.entries()) {
    if (!asked.has(id)) {
      asked.add(id);
      loadedAgain = await requestLoad(undo, { ...detail, loadedAgain, asked: [...asked] }, id);
      undo.failpoint('undo_others_requested');
    }
    if (loadedAgain.includes(id)) await waitForLoad(undo, detail, id, others.slice(index + 1));
  }
  undo.leased.waiting(null);
  return loadedAgain;
}

/** Works like retrying its rejected records: events that the store has are not sent again. Returns all runs that were queued. */
async function requestLoad(
  { db, leased }: Undo,
  detail: UndoDetail & Required<Pick<UndoDetail, 'loadedAgain'>>,
  id: string,
): Promise<readonly string[]> {
  return db.transaction().execute(async (tx) => {
    let { loadedAgain } = detail;
    try {
      await retryRejected(tx, id);
      loadedAgain = [...loadedAgain, id];
    } catch (error) {
      // Its state has changed in the meantime: it loads again, is being undone itself, or was removed.
      if (!(error instanceof RunTransitionError || error instanceof RunMissingError)) throw error;
    }
    await saveRebuild(tx, leased.run.id, { detail: { ...detail, loadedAgain } });
    return loadedAgain;
  });
}

/** Waits until a run has loaded again. One that is paused or fails in the meantime loads its events when it is resumed. */
async function waitForLoad(
  { db, leased, pollMs }: Undo,
  detail: UndoDetail,
  id: string,
  later: readonly string[],
): Promise<void> {
  let shown: number | undefined;
  for (;;) {
    const run = await getRun(db, id);
    if (run === undefined || (run.state !== 'queued' && run.state !== 'running')) return;
    const left = Math.ceil(eventsAgain(detail, [id]) * shareLeft(run)) + eventsAgain(detail, later);
    // A run reports its completion only as its state.
    const again = Math.max(1, left);
    if (again !== shown) showLeft(leased, detail, { again, ids: detail.plan.distinct_ids });
    shown = again;
    leased.waiting({ reason: `run ${id} is loading the events again that it shares with this one` });
    await delay(pollMs, undefined, { signal: leased.signal });
  }
}

/**
 * Lets the pipeline rebuild persons and groups. All events of a run count as arrived when it was created, also what it loads again: had
 * the undone run not been there, it would have brought them then. So they are replayed in the order of time, while `received_at` has
 * that of their source.
 */
async function rebuildPersons({ db, leased, settled }: Undo): Promise<void> {
  await settled(leased.signal);
  const rebuild = await findRebuild(db, leased.run.id);
  if (rebuild?.state !== 'collected') return;
  await saveRebuild(db, rebuild.id, { state: 'due', arrivals: await loadsOf(db, leased.run.projectId) });
}

async function waitForRebuild(undo: Undo, detail: UndoDetail): Promise<Rebuild> {
  const { db, leased, pollMs } = undo;
  for (;;) {
    const rebuild = await findRebuild(db, leased.run.id);
    if (rebuild === undefined)
      throw new RunFailedError('expected the record of the undo, got none; start the undo again');
    if (rebuild.state === 'done') return rebuild;
    const left = await countRebuildKeys(db, rebuild.id);
    showLeft(leased, detail, { ids: left.person });
    if (rebuild.error !== '') leased.waiting({ reason: `rebuilding persons: ${rebuild.error.slice(0, 300)}` });
    await leased.flush();
    await delay(pollMs, undefined, { signal: leased.signal });
  }
}

async function reconcile(undo: Undo, detail: UndoDetail, { counts }: Rebuild): Promise<UndoResult> {
  const { store, leased, clock } = undo;
  const { id: runId, projectId } = leased.run;
  const { plan, cells: before, loadedAgain = [] } = detail;
  const { rows: left } = await rowsLeft(undo);
  if (left > 0) {
    throw new RunFailedError(`expected no row of the run after the undo, got ${left}, stored in the meantime; resume`);
  }
  const after = new Map<string, number>();
  for (const month of new Set(before.map(({ day }) => Number(day.slice(0, 7).replace('-', ''))))) {
    for (const [key, { all }] of await shownCells(store, { projectId, runId, month })) after.set(key, all);
  }
  const cells = before.map(({ day, event, own, all }): UndoCell => {
    return { day, event, before: all, taken_back: own, after: after.get(cellKey(day, event)) ?? 0 };
  });
  const again = cells.reduce((sum, cell) => sum + Math.max(0, cell.after - (cell.before - cell.taken_back)), 0);
  return {
    made_at: new Date(clock.now()).toISOString(),
    plan: { ...plan, persons: counts.persons_before },
    rows_left: left,
    events_seen_again: again,
    persons: { before: counts.persons_before, after: counts.persons_after },
    groups: { before: counts.groups_before, after: counts.groups_after, types_removed: counts.group_types_removed },
    cells: cells.slice(0, cellsShownMax),
    more_cells: Math.max(0, cells.length - cellsShownMax),
    loaded_again: loadedAgain,
    exceptions: [
      ...plan.exceptions,
      ...(await incompleteExceptions(undo, loadedAgain)),
      ...tiesException(counts.ties_not_followed),
    ],
  };
}

/** Describes runs that were paused or failed before they had loaded again. */
async function incompleteExceptions({ db }: Undo, requested: readonly string[]): Promise<string[]> {
  const runs = await Promise.all(requested.map((id) => getRun(db, id)));
  return runs.flatMap((run) => (run === undefined || run.state === 'completed' ? [] : [incompleteException(run)]));
}

function tiesException(count: number): string[] {
  if (count === 0) return [];
  return [
    `${counted(count, 'id is', 'ids are')} linked by stored events to more ids than can be rebuilt together: merges with them that were refused ` +
      'because of this run stay refused.',
  ];
}

/** Writes `undo.json`, and adds the result to the run's report, which is otherwise unchanged. */
async function writeUndo(
  { staging, clock, db }: Pick<UndoStageDeps, 'staging' | 'clock' | 'db'>,
  { run }: Pick<LeasedRun, 'run'>,
  undo: UndoResult,
): Promise<void> {
  const before =
    (await readReport(staging, run.id)) ?? (await makeReport({ staging, clock, run, rows: readRunRows(db, run.id) }));
  const report = { ...before, undo };
  await write(staging, stagingKeys.undo(run.id), JSON.stringify(undo));
  await write(staging, stagingKeys.report(run.id, 'json'), JSON.stringify(report));
  await write(staging, stagingKeys.report(run.id, 'html'), reportPage(report));
}

async function write(staging: Staging, key: string, text: string): Promise<void> {
  await staging.write(key, [Buffer.from(`${text}\n`)]);
}
