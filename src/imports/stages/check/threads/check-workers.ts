import { CallError } from '../../../../base/calls.ts';
import { createInterruption, type Interruption } from '../../../../base/interruption.ts';
import { CheckFailure } from '../check-failure.ts';
import { checkAlone, type AloneSetup, type CheckedSegment, type SegmentTask } from './check-alone.ts';
import type { OnLines } from '../segment/check-segment.ts';
import { startCheckThread, type CheckThread } from './check-thread-host.ts';
import type { Transform } from '../../../transform.ts';
import type { KeptOutList } from '../../../../wire/contract/kept-out.ts';
import type { PlanText } from '../../../run/tracking-plan-of.ts';
import type { TableText } from '../read-tables.ts';
import type { Before } from './segment-memory.ts';
import { createCheckTools } from '../check-tools.ts';

/** Checks segments in this thread, or in several others. */
export interface CheckWorkers extends AsyncDisposable {
  /** Segments that are checked in parallel. */
  readonly threads: number;
  /** Transfers the lines of the task. `before` is what is known when it begins, for a single thread that checks them in order. */
  check(task: SegmentTask, before: Before, onLines: OnLines): Promise<CheckedSegment>;
}

export interface WorkersOptions {
  readonly setup: AloneSetup;
  /** Tables to join, in the order of the choice's joins. */
  readonly tables: readonly TableText[];
  readonly transform: Transform | undefined;
  readonly plan?: PlanText | undefined;
  readonly keptOut?: KeptOutList | undefined;
  readonly signal: AbortSignal;
}

export function openCheckWorkers(options: WorkersOptions, threads: number): CheckWorkers {
  return threads === 1 ? ownWorker(options) : threadWorkers(options, threads);
}

function ownWorker({ setup, tables, transform, plan, keptOut, signal }: WorkersOptions): CheckWorkers {
  const tools = createCheckTools(tables, transform, plan, keptOut);
  return {
    threads: 1,
    check: (task, before, onLines) => checkAlone(setup, task, { tools, signal, onLines, before }),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Creates several threads. If one ends unexpectedly, the work of all fails. */
function threadWorkers(options: WorkersOptions, count: number): CheckWorkers {
  const { signal } = options;
  const interruption = createInterruption();
  const threads = Array.from({ length: count }, () => startCheckThread(options, interruption.interrupt));
  for (const thread of threads) thread.ended.catch(interruption.interrupt);
  const onAbort = (): void => interruption.interrupt(reasonOf(signal));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const toCheck = createPool(threads, interruption);
  return {
    threads: count,
    check: (task, _before, onLines) => toCheck((thread) => thread.check(task, onLines)),
    [Symbol.asyncDispose]: async () => {
      signal.removeEventListener('abort', onAbort);
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}

type Pool = <Result>(work: (thread: CheckThread) => Promise<Result>) => Promise<Result>;

/** Assigns work to idle threads, first come, first served. */
function createPool(threads: readonly CheckThread[], interruption: Interruption): Pool {
  const free = threads.toReversed();
  const waiting: ((thread: CheckThread) => void)[] = [];
  return async (work) => {
    const thread = free.pop() ?? (await interruption.race(new Promise<CheckThread>((get) => waiting.push(get))));
    try {
      return await interruption.race(work(thread));
    } catch (error) {
      throw known(error);
    } finally {
      const next = waiting.shift();
      if (next === undefined) free.push(thread);
      else next(thread);
    }
  };
}

/** Restores errors that are classified by their class: only their name arrives from a thread. */
function known(error: unknown): unknown {
  if (!(error instanceof CallError)) return error;
  if (error.name === 'CheckFailure') return new CheckFailure(error.message, { cause: error });
  return error;
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error('the check was stopped');
}
