import { setTimeout as delay } from 'node:timers/promises';
import type { Failpoint } from '../../base/failpoint.ts';
import type { ErasureCounts, ErasureProgress, ErasureResult, ErasureSpec } from '../../wire/contract/erasures.ts';
import type { EventSelection } from '../../wire/contract/event-selection.ts';
import { countMatchedRows, matchedGroups } from '../../stores/events/erase-counts.ts';
import type { EraseRows, EventStore } from '../../stores/events/eventstore.ts';
import { selectionFilter } from '../../stores/events/selection.ts';
import type { DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { loadsOf } from '../../stores/metadata/import-loads.ts';
import { keepOut } from '../../stores/metadata/kept-out-ids.ts';
import {
  addRebuildKeys,
  beginRebuild,
  findRebuild,
  rebuildKeys,
  removeRebuild,
  saveRebuild,
  type Rebuild,
} from '../../stores/metadata/profile-rebuilds.ts';
import type { HeldTask, TaskKind } from '../tasks/task.ts';
import { countFilterErasure, countPersonErasure, idsOfSamePersons, type StagedRecords } from './concerned-events.ts';
import { findConcerned, removeConcerned } from './concerned-rows.ts';

/** The end of a slot's lane in the event log. */
export interface LogEnd {
  readonly slot: number;
  readonly lane: string;
  readonly seq: number;
}

export interface ErasureDeps {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly clock: DatabaseClock;
  readonly staged: StagedRecords;
  readonly log: {
    /** The ends of the lanes that have events of the project. */
    ends(projectId: number): Promise<readonly LogEnd[]>;
    isStored(end: LogEnd): Promise<boolean>;
    /** Replaces files that contain stored requests. Returns false if a broker keeps them. */
    forgetStored(signal: AbortSignal): Promise<boolean>;
  };
  readonly failpoint: Failpoint;
  /** Interval of polling other work, ms. Default 250. */
  readonly pollMs?: number;
}

type ErasureTask = HeldTask<ErasureSpec, ErasureProgress>;
type Kind = TaskKind<ErasureSpec, ErasureProgress, ErasureResult>;
interface Erasure extends ErasureDeps {
  readonly task: ErasureTask;
}

export const erasureKind = 'erasure';
const pollMsDefault = 250;
const erasesMax = 3;
const keysMax = 10_000_000;

/**
 * Erases persons, or events by a filter. Every step can be repeated; ids are kept with the rebuild, never in what the API shows.
 *
 * | step       | what is done in it                                                                                        |
 * | ---------- | --------------------------------------------------------------------------------------------------------- |
 * | waiting    | wait until the log up to the request is stored and no import is at work; resolve all ids, count, record   |
 * | counted    | nothing is deleted yet, ids to keep out are; then erase events physically, until none received before is left |
 * | erased     | remove dead letters, deliveries, samples and the files of import runs that mention an id                  |
 * | cleaned    | let the pipeline rebuild persons and groups from what remains: persons without events disappear           |
 * | rebuilding | wait for that                                                                                             |
 * | forgetting | replace the files of the log that contain stored requests, and the metadata store's write-ahead log       |
 */
export function createErasures(deps: ErasureDeps): Kind {
  return {
    name: erasureKind,
    run: (given) => {
      const task = { ...given, waiting: noteChanges(given) };
      return task.spec.by === 'project' ? eraseProject({ ...deps, task }) : eraseSelected({ ...deps, task });
    },
    cleanUp: (task) => endEarly(deps, task),
  };
}

/** Records a reason once, however often it is found again. */
function noteChanges({ waiting }: ErasureTask): ErasureTask['waiting'] {
  let last: string | undefined;
  return async (reason) => {
    if (reason === last) return;
    await waiting(reason);
    last = reason;
  };
}

/** Persons of erased events are computed again even if the rest is cancelled. */
async function endEarly(
  { db }: ErasureDeps,
  { id, projectId, progress }: Pick<ErasureTask, 'id' | 'projectId'> & { readonly progress: unknown },
): Promise<void> {
  const { step } = (progress ?? { step: 'waiting' }) as Pick<ErasureProgress, 'step'>;
  if (step === 'waiting') await removeRebuild(db, id);
  else if ((await findRebuild(db, id))?.state === 'collected') {
    await saveRebuild(db, id, { state: 'due', arrivals: await loadsOf(db, projectId) });
  }
}

async function eraseSelected(erasure: Erasure): Promise<ErasureResult> {
  const { task, failpoint } = erasure;
  let progress = task.progress ?? (await begin(erasure));
  const next = async (step: ErasureProgress['step']): Promise<void> => {
    progress = { ...progress, step };
    await task.save(progress);
    failpoint(`erasure_${step}`);
  };
  if (progress.step === 'waiting') progress = await settleAndCount(erasure, progress);
  const counts = progress.counts ?? noCounts;
  if (progress.step === 'counted') {
    failpoint('erasure_counted');
    if (task.spec.keep_out === true) await waitForEarlier(erasure);
    await eraseEvents(erasure, progress);
    await next('erased');
  }
  if (progress.step === 'erased') {
    if (task.spec.by === 'persons') await cleanOthers(erasure, counts);
    await next('cleaned');
  }
  if (progress.step === 'cleaned') {
    const arrivals = await loadsOf(erasure.db, task.projectId);
    const rebuild = await findRebuild(erasure.db, task.id);
    if (rebuild?.state === 'collected') await saveRebuild(erasure.db, task.id, { state: 'due', arrivals });
    await next('rebuilding');
  }
  const { counts: rebuilt } = await waitForRebuild(erasure);
  if (progress.step === 'rebuilding') await next('forgetting');
  const isForgotten = await erasure.log.forgetStored(task.signal);
  await removeRebuild(erasure.db, task.id);
  return {
    ...counts,
    rows_left: 0,
    persons_rebuilt: rebuilt.persons_after,
    groups_rebuilt: rebuilt.groups_after,
    log: isForgotten ? 'erased' : 'kept_by_brokers',
  };
}

const noCounts: ErasureCounts = {
  events: 0,
  rows: 0,
  by_name: {},
  by_month: {},
  distinct_ids: 0,
  persons: 0,
  dead_letters: 0,
  other_rows: 0,
  staged_runs: [],
};

async function begin({ task, log, clock }: Erasure): Promise<ErasureProgress> {
  const ends = await log.ends(task.projectId);
  const requested_at = String(BigInt(Math.floor(await clock.now())) * 1000n);
  const progress: ErasureProgress = { step: 'waiting', requested_at, ends: [...ends], counts: null };
  await task.save(progress);
  return progress;
}

/** Records the ids of what is erased, which later steps must know after their persons are gone. */
async function settleAndCount(erasure: Erasure, progress: ErasureProgress): Promise<ErasureProgress> {
  const { task, db, store, clock } = erasure;
  await waitForLog(erasure, progress.ends);
  await waitForRuns(erasure);
  const { id, projectId } = task;
  const now = await clock.now();
  await beginRebuild(db, { id, projectId, detail: null, now });
  if (task.spec.by === 'persons') {
    const ids = await idsOfSamePersons(db, projectId, seedsOf(task));
    await waitForOpenRuns(erasure, ids);
    await addGroups(erasure, { projectId, filter: { distinctIds: ids } });
    const counts = await countPersonErasure(erasure, projectId, ids);
    return task.commit(async (tx) => {
      await addRebuildKeys(tx, task, 'person', ids);
      if (task.spec.keep_out === true) await keepOut(tx, projectId, ids);
      return { ...progress, step: 'counted', counts };
    });
  }
  const rows = filterRows(task);
  await addGroups(erasure, rows);
  const counts = await countFilterErasure({ db, store }, rows, (ids) => addRebuildKeys(db, task, 'person', ids));
  const counted: ErasureProgress = { ...progress, step: 'counted', counts };
  await task.save(counted);
  return counted;
}

function seedsOf({ secrets }: ErasureTask): readonly string[] {
  // Written by the route that starts the task.
  return JSON.parse(secrets['ids'] ?? '[]') as readonly string[];
}

function filterRows({ projectId, secrets }: ErasureTask): EraseRows {
  return { projectId, filter: selectionFilter(JSON.parse(secrets['selection'] ?? '{}') as EventSelection) };
}

async function addGroups({ db, store, task }: Erasure, rows: EraseRows): Promise<void> {
  const { groups, types } = await matchedGroups(store, rows);
  await addRebuildKeys(
    db,
    task,
    'group',
    groups.map((group) => JSON.stringify(group)),
  );
  await addRebuildKeys(db, task, 'group_type', types);
}

/** Events that were accepted before the request are stored, and their persons known. */
async function waitForLog(
  { task, log, store, pollMs = pollMsDefault }: Erasure,
  ends: readonly LogEnd[],
): Promise<void> {
  for (const end of ends) {
    while (!(await log.isStored(end))) {
      await task.waiting('events that were accepted before the request are being stored');
      await delay(pollMs, undefined, { signal: task.signal });
    }
  }
  await store.waitForReplicas();
  await task.waiting('');
}

/** An import at work may store events of a person at any moment. */
async function waitForRuns({ db, task, pollMs = pollMsDefault }: Erasure): Promise<void> {
  for (;;) {
    const run = await db
      .selectFrom('import_runs')
      .select('id')
      .where('project_id', '=', task.projectId)
      .where('state', 'in', ['queued', 'running'])
      .orderBy('id')
      .executeTakeFirst();
    if (run === undefined) return task.waiting('');
    await task.waiting(`import run ${run.id} is at work; the erasure starts when it has finished`);
    await delay(pollMs, undefined, { signal: task.signal });
  }
}

/** Waits for windows and runs that began before the ids were kept out, so that their events are erased too. */
async function waitForEarlier(erasure: Erasure): Promise<void> {
  await waitForLog(erasure, await erasure.log.ends(erasure.task.projectId));
  await waitForRuns(erasure);
}

/** Runs that can be resumed would store the events again. */
async function waitForOpenRuns(
  { staged, task, pollMs = pollMsDefault }: Erasure,
  ids: readonly string[],
): Promise<void> {
  for (;;) {
    const [open] = (await staged.find(task.projectId, ids)).open;
    if (open === undefined) return task.waiting('');
    await task.waiting(
      `import run ${open} is paused or failed and has staged records of the person; resume or cancel it`,
    );
    await delay(Math.max(pollMs, 1000), undefined, { signal: task.signal });
  }
}

async function eraseEvents(erasure: Erasure, { requested_at: requestedAt }: ErasureProgress): Promise<void> {
  const { task, store } = erasure;
  const rows = task.spec.by === 'persons' ? await personRows(erasure) : filterRows(task);
  const before = { ...rows, filter: { ...rows.filter, receivedBefore: BigInt(requestedAt) } };
  for (let tries = 1; ; tries += 1) {
    await store.erase(rows, {
      signal: task.signal,
      onWait: (reason) => void task.waiting(reason).catch(() => undefined),
    });
    const left = await countMatchedRows(store, before);
    if (left === 0) return task.waiting('');
    if (tries === erasesMax)
      throw new Error(`expected no event of the erasure after ${erasesMax} deletions, got ${left}`);
  }
}

async function personRows({ db, task }: Erasure): Promise<EraseRows> {
  return { projectId: task.projectId, filter: { distinctIds: await rebuildKeys(db, task.id, 'person', keysMax) } };
}

async function cleanOthers({ db, task, staged }: Erasure, counts: ErasureCounts): Promise<void> {
  const ids = await rebuildKeys(db, task.id, 'person', keysMax);
  const found = await findConcerned(db, task.projectId, ids);
  await db.transaction().execute((tx) => removeConcerned(tx, task.projectId, found));
  for (const run of counts.staged_runs) await staged.remove(task.projectId, run);
}

async function waitForRebuild({ db, task, pollMs = pollMsDefault }: Erasure): Promise<Rebuild> {
  for (;;) {
    const rebuild = await findRebuild(db, task.id);
    if (rebuild === undefined) throw new Error('expected the record of the erasure, got none');
    if (rebuild.state === 'done') return rebuild;
    await task.waiting(rebuild.error === '' ? '' : `rebuilding persons: ${rebuild.error.slice(0, 300)}`);
    await delay(pollMs, undefined, { signal: task.signal });
  }
}

/** The project is deleted, with everything that the metadata store had of it; events of it in the log are refused by now. */
async function eraseProject(erasure: Erasure): Promise<ErasureResult> {
  const { task, store, log, failpoint } = erasure;
  const rows: EraseRows = { projectId: task.projectId, filter: {} };
  const progress = task.progress ?? (await begin(erasure));
  await waitForLog(erasure, progress.ends);
  const stored = await countMatchedRows(store, rows);
  failpoint('erasure_counted');
  await store.erase(rows, { signal: task.signal });
  failpoint('erasure_erased');
  const isForgotten = await log.forgetStored(task.signal);
  return {
    ...noCounts,
    events: stored,
    rows: stored,
    rows_left: await countMatchedRows(store, rows),
    persons_rebuilt: 0,
    groups_rebuilt: 0,
    log: isForgotten ? 'erased' : 'kept_by_brokers',
  };
}
