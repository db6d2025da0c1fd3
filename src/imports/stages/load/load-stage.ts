import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { Sleep } from '../../../base/retry.ts';
import type { RunStore } from '../../../stores/events/run-tables.ts';
import type { AdviceWords } from '../../run/advice-words.ts';
import { frameEvents, isAdmitted, isLoaded, type StoredDay } from '../../run/import-day.ts';
import type { LeasedRun, RunStage } from '../../run/leased-run.ts';
import type { CheckResult } from '../../run/results.ts';
import type { Run } from '../../run/run.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import type { Target } from '../../target.ts';
import { assertCheckPassed, type LoadConditions } from '../check/assert-check-passed.ts';
import { createTargetRetry } from '../stage-retry.ts';
import { attachMonth } from './attach-month.ts';
import { loadRejectedPrefix } from './deliver-frame.ts';
import { deliverFacts } from './deliver-facts.ts';
import { createLoadProgress } from './load-progress.ts';
import type { Load, LoadPending } from './load.ts';
import { openPendingFacts, writePendingFacts, type PendingFacts } from './pending-facts.ts';
import { readJson } from './read-json.ts';
import { assertRunTable, byMonth } from './read-table.ts';
import { sendDay } from './send-day.ts';
import { createSpeedLimit } from './speed-limit.ts';

export interface LoadDeps {
  readonly target: Target;
  readonly staging: Staging;
  /** Has the table of the run, whatever the target is. */
  readonly runStore: RunStore;
  readonly clock: Clock;
  readonly sleep?: Sleep;
  readonly failpoint: Failpoint;
  /** Default: no run was undone. */
  readonly undone?: EarlierRuns['undone'] | undefined;
  /** Frames on their way at the same time, at most; default 4. */
  readonly inFlight?: number;
  /** As the check counted them; tests make them small. */
  readonly frameEvents?: number;
  /** Of JSON, read from the table at once; tests make it small. */
  readonly pageBytes?: number;
  /** Facts of persons that are delivered again after a kill, about; tests make it small. */
  readonly sliceFacts?: number;
  readonly random?: () => number;
  /** How advice is given; default as in the API. */
  readonly words?: AdviceWords;
}

const noneUndone: EarlierRuns['undone'] = async () => new Set();
const inFlightDefault = 4;
/** Each page costs the engine a look at the whole day. */
const pageBytesDefault = 16 << 20;
const sliceFactsDefault = 25_000;

/**
 * Loads the days oldest first. A target that takes tables gets a month at once, as its rows lie in the table of the run, and what these
 * say of persons and groups once all months before one that must be sent are there. Every other one is sent the events of that table,
 * frame by frame.
 */
export function createLoadStage(deps: LoadDeps): RunStage {
  return async (leased) => {
    const { run } = leased;
    // What the check wrote.
    const check = (await readJson(deps.staging, stagingKeys.check(run.id))) as CheckResult;
    await assertCheckPassed(check, conditionsOf(run), { undone: deps.undone ?? noneUndone, words: deps.words });
    const days = (await leased.days()).toSorted((a, b) => (a.day < b.day ? -1 : 1));
    const isBegun = days.some(({ accepted, framesLoaded }) => accepted + framesLoaded > 0);
    const pending = await openPendingFacts(deps.staging, run.id, isBegun);
    const load = openLoad(deps, leased, check, { days, pending });
    try {
      await loadDays(load, days);
    } finally {
      // What is still read ahead is not tried again.
      load.stop();
    }
  };
}

async function loadDays(load: Load, days: readonly StoredDay[]): Promise<void> {
  const { leased, staging, run, progress } = load;
  await assertRunTable(
    load,
    days.filter((day) => !isLoaded(day)),
  );
  if (days.every((day) => day.framesLoaded === 0)) await staging.remove(loadRejectedPrefix(run));
  progress.show();
  // From here on a worker that takes over knows that there may be frames beyond the cursor.
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
    // Days before the first that is not done are done; days after it have not begun.
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
  const mayBeAttached = open.every(isAdmitted);
  // Attached rows would take the place of those that were sent, which something may have changed on their way.
  const isUnsent = mayBeAttached || days.every((day) => day.framesLoaded === 0);
  if (tables !== undefined && isUnsent && (await attachMonth(load, tables, month, open))) return;
  if (tables !== undefined) await deliverFacts(load, tables, all);
  for (const day of open) await sendDay(load, day, mayBeAttached ? 'attached' : load.doubtOf(day));
}
