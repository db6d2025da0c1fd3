import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { Sleep } from '../../../base/retry.ts';
import type { RunStore } from '../../../stores/events/run-tables.ts';
import { fieldWords, type AdviceWords } from '../../run/advice-words.ts';
import { frameEvents, isAdmitted, isLoaded, type StoredDay } from '../../run/import-day.ts';
import { RunFailedError, type LeasedRun, type RunStage } from '../../run/leased-run.ts';
import type { CheckResult } from '../../run/results.ts';
import type { Run } from '../../run/run.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import type { Target, TableTarget } from '../../target.ts';
import { readStore } from '../../targets/read-store.ts';
import { assertCheckPassed, type LoadConditions } from '../check/assert-check-passed.ts';
import { createTargetRetry } from '../stage-retry.ts';
import { loadRejectedPrefix, withoutStored, deliverFrame, type DeliveredFrame } from './deliver-frame.ts';
import { deliverFacts } from './deliver-facts.ts';
import { createLoadProgress } from './load-progress.ts';
import {
  createDue,
  commitFrames,
  type Load,
  type LoadPending,
  type Doubt,
  openPendingFacts,
  writePendingFacts,
  type PendingFacts,
  readJson,
} from './load.ts';
import { assertRunTable, byMonth, readFrames } from './read-table.ts';
import { createSpeedLimit } from './speed-limit.ts';
import { counted, integer } from '../../../base/integer-text.ts';
import { rejectedShare } from '../../run/check-problems.ts';
import { inOrder } from './in-order.ts';

export interface LoadDeps {
  readonly target: Target;
  readonly staging: Staging;
  /** Has the run's table, whatever the target is. */
  readonly runStore: RunStore;
  readonly clock: Clock;
  readonly sleep?: Sleep;
  readonly failpoint: Failpoint;
  /** Default: no run was undone. */
  readonly undone?: EarlierRuns['undone'] | undefined;
  /** Maximum number of concurrent frames; default 4. */
  readonly inFlight?: number;
  /** Default as in the check; smaller in tests. */
  readonly frameEvents?: number;
  /** JSON read from the table at a time; smaller in tests. */
  readonly pageBytes?: number;
  /** Facts of persons, approximately, that are delivered again after a kill; smaller in tests. */
  readonly sliceFacts?: number;
  readonly random?: () => number;
  /** Words of advice; default those of the API. */
  readonly words?: AdviceWords;
}

const noneUndone: EarlierRuns['undone'] = async () => new Set();
const inFlightDefault = 4;
/** For each page the engine reads the whole day. */
const pageBytesDefault = 16 << 20;
const sliceFactsDefault = 25_000;

/**
 * Loads the days, oldest first. A target that attaches tables gets a month at a time from the run's table, and the facts of its persons and
 * groups once all earlier months are there, before a month that must be sent. Other targets are sent the events of that table, frame by
 * frame.
 */
export function createLoadStage(deps: LoadDeps): RunStage {
  return async (leased) => {
    const { run } = leased;
    // The check wrote it.
    const check = (await readJson(deps.staging, stagingKeys.check(run.id))) as CheckResult;
    await assertCheckPassed(check, conditionsOf(run), { undone: deps.undone ?? noneUndone, words: deps.words });
    const days = (await leased.days()).toSorted((a, b) => (a.day < b.day ? -1 : 1));
    const hasBegun = days.some(({ accepted, framesLoaded }) => accepted + framesLoaded > 0);
    const pending = await openPendingFacts(deps.staging, run.id, hasBegun);
    const load = openLoad(deps, leased, check, { days, pending });
    try {
      await loadDays(load, days);
    } finally {
      // Pages that are read ahead must not be retried.
      load.stop();
    }
  };
}

async function loadDays(load: Load, days: readonly StoredDay[]): Promise<void> {
  const { leased, staging, run, progress, retry, runStore } = load;
  // What earlier runs have attached decides how months are loaded.
  await retry(() => readStore(() => runStore.waitForReplicas()));
  await assertRunTable(
    load,
    days.filter((day) => !isLoaded(day)),
  );
  if (days.every((day) => day.framesLoaded === 0)) await staging.remove(loadRejectedPrefix(run));
  progress.show();
  // From here on the next worker knows that frames beyond the cursor may be stored.
  await leased.flush();
  const months = byMonth(days);
  for (const month of months.keys()) await loadMonth(load, month, months);
  if (load.target.tables !== undefined) await deliverFacts(load, load.target.tables, months);
  progress.finish();
  await leased.flush();
}

function openLoad(
  deps: LoadDeps,
  leased: LeasedRun,
  check: CheckResult,
  { days, pending }: { readonly days: readonly StoredDay[]; readonly pending: PendingFacts },
): Load {
  const { run } = leased;
  const stop = new AbortController();
  const signal = AbortSignal.any([leased.signal, stop.signal]);
  const progress = createLoadProgress(leased, deps.clock, check, days);
  const first = days.find((day) => !isLoaded(day))?.day;
  const wasBegun = run.progress.load !== undefined;
  const mayBeStored = run.retries > 0 || run.options.previousRun !== undefined;
  return {
    ...deps,
    leased,
    run: run.id,
    ref: { projectId: run.projectId, runId: run.id },
    signal,
    stop: () => stop.abort(new Error('another batch of the load failed')),
    retry: createTargetRetry({ ...deps, leased: { signal, waiting: (waiting) => leased.waiting(waiting) } }),
    speed: createSpeedLimit(run.options.eventsPerSecond, deps),
    check,
    progress,
    inFlight: deps.inFlight ?? inFlightDefault,
    pending: createPending(deps.staging, run.id, pending),
    frameEvents: deps.frameEvents ?? frameEvents,
    pageBytes: deps.pageBytes ?? pageBytesDefault,
    sliceFacts: deps.sliceFacts ?? sliceFactsDefault,
    // Days before the first unfinished one are done; days after it have not begun.
    doubtOf: ({ day }) => (mayBeStored ? 'all' : wasBegun && day === first ? 'beyond-cursor' : 'none'),
    save: async (day, change) => {
      await leased.saveDay(day.day, change);
      progress.set({ ...day, ...change });
    },
  };
}

function createPending(staging: Staging, run: string, before: PendingFacts): LoadPending {
  let current = before;
  return {
    get current() {
      return current;
    },
    save: async (pending) => {
      await writePendingFacts(staging, run, pending);
      current = pending;
    },
  };
}

function conditionsOf({ options, totals: { replaced } }: Run): LoadConditions {
  return { ...options, ...(replaced !== undefined && { replaced }) };
}

async function loadMonth(load: Load, month: number, all: ReturnType<typeof byMonth>): Promise<void> {
  const days = all.get(month) ?? [];
  const open = days.filter((day) => !isLoaded(day));
  if (open.length === 0) return;
  if (load.pending.current.months.includes(month)) return;
  const { tables } = load.target;
  const canBeAttached = open.every(isAdmitted);
  // Attached rows would replace those that were sent, which transformations may have changed.
  const isUnsent = canBeAttached || days.every((day) => day.framesLoaded === 0);
  if (tables !== undefined && isUnsent && (await attachMonth(load, tables, month, open))) return;
  if (tables !== undefined) await deliverFacts(load, tables, all);
  for (const day of open) await sendDay(load, day, canBeAttached ? 'attached' : load.doubtOf(day));
}

/** Maximum number of events admitted at a time. */
const pieceEventsMax = 1000;

/**
 * Admits the events of a month and attaches its rows; their facts about persons and groups are still to be delivered. Each step may be
 * repeated; `accepted` of the days records how much was admitted. Returns `false` if plugins change or receive events now, so that they
 * must be sent.
 */
async function attachMonth(
  load: Load,
  tables: TableTarget,
  month: number,
  days: readonly StoredDay[],
): Promise<boolean> {
  const { leased, retry, signal, failpoint, save, pending } = load;
  const isOpen = (): Promise<boolean> => retry(() => tables.isOpen(signal));
  if (!(await isOpen())) return false;
  if (!days.every(isAdmitted)) {
    const last = await admitDays(load, tables, days);
    // Admission may have taken hours. Only then the last day is saved: if all days are admitted, they may be attached.
    if (!(await isOpen())) return false;
    await save(last, { accepted: last.events });
    // From now on its events count as loaded: a user who cancels the run must know that they may be stored.
    await leased.flush();
  }
  failpoint('import_month_admitted');
  if (!(await retry(() => tables.attach(month, signal)))) return false;
  failpoint('import_month_attached');
  await pending.save({ months: [...pending.current.months, month], slicesDone: 0 });
  return true;
}

/** Saves each day but the last, which it returns. */
async function admitDays(load: Load, tables: TableTarget, days: readonly StoredDay[]): Promise<StoredDay> {
  const { clock, failpoint, retry, save, signal, speed } = load;
  const due = createDue(clock);
  let pieces = 0;
  for (const day of days) {
    for await (const { upTo, missing } of eventsToAdmit(load, day)) {
      for (let left = missing; left > 0; left -= pieceMax(load)) {
        const events = Math.min(left, pieceMax(load));
        await speed.admit(events, signal);
        await retry(() => tables.admit(events, signal));
      }
      pieces += 1;
      const isDone = upTo === day.events;
      if (isDone && day === days.at(-1)) return day;
      if (!isDone && !due.isDue(pieces)) continue;
      await save(day, { accepted: upTo });
      failpoint('import_events_admitted');
      due.written();
      pieces = 0;
    }
  }
  throw new Error('expected days with events');
}

function pieceMax({ speed }: Load): number {
  return Math.min(pieceEventsMax, speed.eventsMax);
}

/** Yields what of a day is not admitted yet. `missing` excludes what the target has already, if it may have any. */
async function* eventsToAdmit(
  load: Load,
  day: StoredDay,
): AsyncGenerator<{ readonly upTo: number; readonly missing: number }> {
  const { frameEvents } = load;
  if (load.doubtOf(day) !== 'all') {
    for (let from = day.accepted; from < day.events;) {
      const upTo = Math.min(from + pieceMax(load), day.events);
      yield { upTo, missing: upTo - from };
      from = upTo;
    }
    return;
  }
  const first = Math.floor(day.accepted / frameEvents);
  for await (const frame of readFrames(load, day, first)) {
    const upTo = Math.min((frame.index + 1) * frameEvents, day.events);
    yield { upTo, missing: (await withoutStored(load, frame)).texts.length };
  }
}

/**
 * Sends a day frame by frame. Acknowledged frames are committed in order, so that after a crash few frames are beyond the cursor: the
 * target is queried for those, and gets only what it lacks.
 */
async function sendDay(load: Load, day: StoredDay, doubt: Doubt): Promise<void> {
  const { staging, run, inFlight } = load;
  const first = day.framesLoaded;
  if (doubt !== 'none' && first === 0) await staging.remove(loadRejectedPrefix(run, day.day));
  const underWayMax = commitFrames + inFlight;
  const doubtful = { none: 0, attached: 0, 'beyond-cursor': first + underWayMax, all: day.frames }[doubt];
  const cursor = createCursor(load, day, doubt);
  const oneByOne = createSequence();
  await inOrder(readFrames(load, day, first), {
    max: inFlight,
    work: (frame) => {
      const deliver = (): Promise<DeliveredFrame> => deliverFrame(load, frame, frame.index < doubtful);
      return frame.merges ? oneByOne(deliver) : deliver();
    },
    done: (delivered) => cursor.add(delivered),
    onFailure: load.stop,
  });
  await cursor.commit(day.frames);
}

/**
 * Runs work one after another. Concurrent frames may arrive in any order, and a device would belong to the user of the first frame to
 * arrive: so frames that merge persons wait for each other.
 */
function createSequence(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result;
    return result;
  };
}

interface Cursor {
  add(delivered: DeliveredFrame): Promise<void>;
  commit(framesLoaded: number): Promise<void>;
}

function createCursor(load: Load, day: StoredDay, doubt: Doubt): Cursor {
  const { clock, failpoint, save } = load;
  let { framesLoaded } = day;
  // Without frames, `accepted` counts events that were admitted to be attached.
  let { accepted, rejected } = framesLoaded === 0 ? { accepted: 0, rejected: 0 } : day;
  let committed = framesLoaded;
  const due = createDue(clock);
  const commit = async (upTo: number): Promise<void> => {
    framesLoaded = upTo;
    if (framesLoaded === committed) return;
    failpoint('import_load_delivered');
    await save(day, { framesLoaded, accepted, rejected });
    failpoint('import_load_committed');
    committed = framesLoaded;
    due.written();
    assertFewRejected(load);
  };
  return {
    add: async (delivered) => {
      accepted += delivered.accepted;
      rejected += delivered.rejected;
      framesLoaded = delivered.index + 1;
      // A day that may be attached must look unsent until it is done.
      if (doubt !== 'attached' && due.isDue(framesLoaded - committed)) await commit(framesLoaded);
    },
    commit,
  };
}

function assertFewRejected({ check, progress, leased, words = fieldWords }: Load): void {
  const { rejectedMax } = leased.run.options;
  const rejected = progress.rejected();
  const share = rejectedShare({ ...check.totals, rejected });
  if (share <= rejectedMax) return;
  const enough = Math.min(1, Math.ceil(share * 10_000) / 10_000);
  throw new RunFailedError(
    `The check and the target rejected ${integer(rejected)} of ${counted(check.totals.records, 'record')}; ${words.rejectedMax} allows ` +
      `${Number((rejectedMax * 100).toPrecision(3))} %. Read the rejected records (their codes say why). Then ` +
      `${words.skipRejected(enough)} to skip them, or ${words.startAgain}.`,
  );
}
