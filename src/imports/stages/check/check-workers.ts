import { CallError } from '../../../base/calls.ts';
import { createInterruption, type Interruption } from '../../../base/interruption.ts';
import { RunFailedError } from '../../run/leased-run.ts';
import type { Staging } from '../../staging.ts';
import { CheckFailure } from './check-failure.ts';
import { checkAlone, type AloneSetup, type CheckedSegment, type SegmentTask } from './check-alone.ts';
import type { OnLines } from './check-segment.ts';
import { startCheckThread, type CheckThread } from './check-thread-host.ts';
import { mergeDay, type MergedDay, type MergeTask } from './merge-day.ts';
import type { Before } from './segment-memory.ts';
import { createCheckTools, type CheckTools } from './check-tools.ts';
import type { SpillLimits } from './spill-buffer.ts';

/** Who checks segments and merges days: this thread, or several beside it. */
export interface CheckWorkers extends AsyncDisposable {
  /** Segments that are checked side by side. */
  readonly threads: number;
  /** Days that are merged side by side. */
  readonly merges: number;
  /** The lines of the task are given away. `before`: what is known when it begins, for one thread, which does them in order. */
  check(task: SegmentTask, before: Before, onLines: OnLines): Promise<CheckedSegment>;
  merge(task: MergeTask): Promise<MergedDay>;
}

export interface WorkersOptions {
  readonly setup: AloneSetup;
  readonly limits: SpillLimits;
  readonly staging: Staging;
  readonly signal: AbortSignal;
}

export function openCheckWorkers(options: WorkersOptions, threads: number): CheckWorkers {
  return threads === 1 ? ownWorker(options) : threadWorkers(options, threads);
}

function ownWorker({ setup, limits, staging, signal }: WorkersOptions): CheckWorkers {
  let tools: CheckTools | undefined;
  return {
    threads: 1,
    merges: 1,
    check: (task, before, onLines) => {
      tools ??= createCheckTools(limits);
      return checkAlone(setup, task, { tools, signal, onLines, before });
    },
    merge: (task) => {
      // Segments are done by then.
      tools = undefined;
      return mergeDay({ staging, signal }, task);
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/**
 * Days that a thread merges at a time: while the file of one is written, another goes on. Segments are checked one at a time, they
 * share a buffer.
 */
const mergesPerThread = 2;

/** A thread that ends by itself makes what all of them have in hand fail. */
function threadWorkers({ setup, limits, staging, signal }: WorkersOptions, count: number): CheckWorkers {
  const threads = Array.from({ length: count }, () => startCheckThread({ setup, limits }, staging));
  const interruption = createInterruption();
  for (const thread of threads) thread.ended.catch(interruption.interrupt);
  const onAbort = (): void => interruption.interrupt(reasonOf(signal));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const toCheck = createPool(threads, interruption);
  const toMerge = createPool(Array.from({ length: mergesPerThread }, () => threads).flat(), interruption);
  return {
    threads: count,
    merges: count * mergesPerThread,
    check: (task, _before, onLines) => toCheck((thread) => thread.check(task, onLines)),
    merge: (task) => toMerge((thread) => thread.merge(task)),
    [Symbol.asyncDispose]: async () => {
      signal.removeEventListener('abort', onAbort);
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}

type Pool = <Result>(work: (thread: CheckThread) => Promise<Result>) => Promise<Result>;

/** Gives work to a thread that has none; those who wait come first to last. */
function createPool(threads: readonly CheckThread[], interruption: Interruption): Pool {
  const free = threads.toReversed();
  const waiting: ((thread: CheckThread) => void)[] = [];
  return async (work) => {
    const thread = free.pop() ?? (await interruption.race(new Promise<CheckThread>((get) => waiting.push(get))));
    try {
      return await interruption.race(work(thread));
    } catch (error) {
      throw thread.failure() ?? known(error);
    } finally {
      const next = waiting.shift();
      if (next === undefined) free.push(thread);
      else next(thread);
    }
  };
}

/** Errors that are judged by their class: of a thread only the name arrives. */
function known(error: unknown): unknown {
  if (!(error instanceof CallError)) return error;
  if (error.name === 'CheckFailure') return new CheckFailure(error.message, { cause: error });
  // A file in staging that is damaged.
  if (error.name === 'RunFailedError') return new RunFailedError(error.message, { advice: 'startAnew', cause: error });
  return error;
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error('the check was stopped');
}
