import { integer } from '../../../base/integer-text.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { Retry, Sleep } from '../../../base/retry.ts';
import { rejectedShare } from '../../run/check-problems.ts';
import { assertCheckPassed, type LoadConditions } from '../check/assert-check-passed.ts';
import { fieldWords, type AdviceWords } from '../../run/advice-words.ts';
import { RunFailedError, type LeasedRun, type RunStage } from '../../run/leased-run.ts';
import { isLoaded, type StoredDay } from '../../run/import-day.ts';
import type { CheckResult } from '../../run/results.ts';
import type { Run } from '../../run/run.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import { stagingKeys, type DayIndex, type Staging } from '../../staging.ts';
import type { Target } from '../../target.ts';
import { deliverFrame, loadRejectedPrefix, type DeliveredFrame } from './deliver-frame.ts';
import { inOrder } from './in-order.ts';
import { createLoadProgress, type LoadProgress } from './load-progress.ts';
import { createTargetRetry } from '../stage-retry.ts';
import { readDayFrames, readDayIndex } from './read-day.ts';
import { readJson } from './read-json.ts';
import { createSpeedLimit, type SpeedLimit } from './speed-limit.ts';

export interface LoadDeps {
  readonly target: Target;
  readonly staging: Staging;
  readonly clock: Clock;
  readonly sleep?: Sleep;
  readonly failpoint: Failpoint;
  /** Left out: nobody undoes anything. */
  readonly undone?: EarlierRuns['undone'] | undefined;
  /** Frames on their way at the same time, at most; default 4. */
  readonly inFlight?: number;
  readonly random?: () => number;
  /** How advice is given; default as in the API. */
  readonly words?: AdviceWords;
}

const noneUndone: EarlierRuns['undone'] = async () => new Set();
const inFlightDefault = 4;
/** The cursor is written after so many frames, or so much time. */
const commitFrames = 8;
const commitMs = 250;

interface Load extends LoadDeps {
  readonly leased: LeasedRun;
  readonly signal: AbortSignal;
  readonly stop: () => void;
  readonly retry: Retry;
  readonly speed: SpeedLimit;
  readonly check: CheckResult;
  readonly progress: LoadProgress;
  readonly inFlight: number;
}

/**
 * Sends the days oldest first, frame by frame. What the target acknowledged is committed in order, so that after a crash the
 * frames beyond the cursor are few: the target is asked for those, and gets only what it lacks.
 */
export function createLoadStage(deps: LoadDeps): RunStage {
  return async (leased) => {
    const { run } = leased;
    // What the check wrote.
    const check = (await readJson(deps.staging, stagingKeys.check(run.id))) as CheckResult;
    await assertCheckPassed(check, conditionsOf(run), { undone: deps.undone ?? noneUndone, words: deps.words });
    const days = (await leased.days()).toSorted((a, b) => (a.day < b.day ? -1 : 1));
    const begun = run.progress.load !== undefined;
    if (days.every((day) => day.framesLoaded === 0)) await deps.staging.remove(loadRejectedPrefix(run.id));
    const stop = new AbortController();
    const signal = AbortSignal.any([leased.signal, stop.signal]);
    const progress = createLoadProgress(leased, deps.clock, check, days, await bytesLoaded(deps.staging, run.id, days));
    const load: Load = {
      ...deps,
      leased,
      signal,
      stop: () => stop.abort(new Error('another batch of the load failed')),
      retry: createTargetRetry({ ...deps, leased: { signal, waiting: (waiting) => leased.waiting(waiting) } }),
      speed: createSpeedLimit(run.options.eventsPerSecond, deps),
      check,
      progress,
      inFlight: deps.inFlight ?? inFlightDefault,
    };
    progress.show();
    // From here on a worker that takes over knows that there may be frames beyond the cursor.
    await leased.flush();
    // Days before the first that is not done are done; days after it have not begun.
    let doubt: Doubt = begun ? 'beyond-cursor' : 'none';
    for (const day of days) {
      if (isLoaded(day)) continue;
      await loadDay(load, day, mayBeStored(run) ? 'all' : doubt);
      doubt = 'none';
    }
    progress.finish();
    await leased.flush();
  };
}

function conditionsOf({ options, totals: { replaced } }: Run): LoadConditions {
  return { ...options, ...(replaced !== undefined && { replaced }) };
}

function mayBeStored({ retries, options }: Run): boolean {
  return retries > 0 || options.previousRun !== undefined;
}

/** Which frames the target may have already: those that were under way when the load stopped, or any, after a retry. */
type Doubt = 'none' | 'beyond-cursor' | 'all';

async function loadDay(load: Load, day: StoredDay, doubt: Doubt): Promise<void> {
  const { staging, leased, progress } = load;
  const run = leased.run.id;
  const index = await readDayIndex(staging, run, day.day);
  if (doubt !== 'none' && day.framesLoaded === 0) await staging.remove(loadRejectedPrefix(run, day.day));
  const underWayMax = commitFrames + load.inFlight;
  const doubtful = { none: 0, 'beyond-cursor': day.framesLoaded + underWayMax, all: index.frames.length }[doubt];
  const cursor = createCursor(load, day);
  const oneByOne = createSequence();
  await inOrder(readDayFrames(staging, run, index, day.framesLoaded), {
    max: load.inFlight,
    work: (frame) => {
      const deliver = (): Promise<DeliveredFrame> => deliverFrame({ ...load, run }, frame, frame.index < doubtful);
      return frame.merges ? oneByOne(deliver) : deliver();
    },
    done: (delivered) => cursor.add(delivered),
    onFailure: load.stop,
  });
  await cursor.commit(index.frames.length);
  progress.dayDone();
  progress.show();
}

/**
 * Of frames that are under way at once any may arrive first, and a device would belong to the user whose frame did: those that merge
 * persons wait for each other.
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

function createCursor({ leased, clock, failpoint, progress, check, words = fieldWords }: Load, day: StoredDay): Cursor {
  let { accepted, rejected, framesLoaded } = day;
  let committed = framesLoaded;
  let committedAt = clock.now();
  const commit = async (upTo: number): Promise<void> => {
    framesLoaded = upTo;
    if (framesLoaded === committed) return;
    failpoint('import_load_delivered');
    await leased.saveDay(day.day, { framesLoaded, accepted, rejected });
    failpoint('import_load_committed');
    committed = framesLoaded;
    committedAt = clock.now();
    progress.show();
    assertFewRejected(check, progress.rejected(), leased.run.options.rejectedMax, words);
  };
  return {
    add: async (delivered) => {
      accepted += delivered.accepted;
      rejected += delivered.rejected;
      framesLoaded = delivered.frame.index + 1;
      progress.add({ ...delivered, bytes: delivered.frame.bytes });
      const due = framesLoaded - committed >= commitFrames || clock.now() - committedAt >= commitMs;
      if (due) await commit(framesLoaded);
    },
    commit,
  };
}

function assertFewRejected(check: CheckResult, rejected: number, rejectedMax: number, words: AdviceWords): void {
  const share = rejectedShare({ ...check.totals, rejected });
  if (share <= rejectedMax) return;
  const enough = Math.min(1, Math.ceil(share * 10_000) / 10_000);
  throw new RunFailedError(
    `${integer(rejected)} of ${integer(check.totals.records)} records were rejected by the check or the target; ${words.rejectedMax} allows ` +
      `${Number((rejectedMax * 100).toPrecision(3))} %. Read the rejected records (their codes say why). Then ` +
      `${words.leaveOut(enough)} to leave them out, or ${words.startAnew}.`,
  );
}

/** Bytes of JSON of the frames that were loaded before. */
async function bytesLoaded(staging: Staging, run: string, days: readonly StoredDay[]): Promise<number> {
  let bytes = 0;
  for (const day of days) {
    if (isLoaded(day)) bytes += day.bytes;
    else if (day.framesLoaded > 0) bytes += sumOf(await readDayIndex(staging, run, day.day), day.framesLoaded);
  }
  return bytes;
}

function sumOf({ frames }: DayIndex, count: number): number {
  return frames.slice(0, count).reduce((sum, frame) => sum + frame.bytes, 0);
}
