import { Worker } from 'node:worker_threads';
import { throughputThreadLimits } from '../../../base/thread-limits.ts';
import { answerOver, callOver } from '../../../base/calls.ts';
import type { Staging } from '../../staging.ts';
import { checkFailure, type CheckFailure } from './check-failure.ts';
import type { AloneSetup, CheckedSegment, SegmentTask } from './check-alone.ts';
import type { OnLines } from './check-segment.ts';
import { asBuffer, lendStaging, wholeMemory } from './lent-staging.ts';
import type { MergedDay, MergeTask } from './merge-day.ts';
import type { SpillLimits } from './spill-buffer.ts';

/** What a thread is started with; structured clone. */
export interface CheckThreadData {
  readonly setup: AloneSetup;
  readonly limits: SpillLimits;
}

/** What a thread says between calls: how many lines of the segment it has read. */
export interface LinesRead {
  readonly linesRead: number;
}

export interface CheckThread {
  /** One at a time. */
  check(task: SegmentTask, onLines: OnLines): Promise<CheckedSegment>;
  merge(task: MergeTask): Promise<MergedDay>;
  /** Rejects when the thread has ended. */
  readonly ended: Promise<never>;
  /** What staging did not do for the thread, as it was thrown here; undefined: all went well. */
  failure(): unknown;
  close(): Promise<void>;
}

/** It reads and writes files through the staging that it is lent. */
export function startCheckThread(data: CheckThreadData, staging: Staging): CheckThread {
  const worker = new Worker(new URL('./check-thread.ts', import.meta.url), {
    workerData: data,
    resourceLimits: throughputThreadLimits,
  });
  const port = {
    postMessage: (message: unknown) => worker.postMessage(message, memoryOf(message)),
    on: (event: 'message', listener: (message: unknown) => void) => worker.on(event, listener),
  };
  const call = callOver(port);
  /** Who wants to know how far the segment is that the thread checks. */
  let tell: OnLines | undefined;
  port.on('message', (message) => {
    if (isLinesRead(message)) tell?.(message.linesRead);
  });
  const lent = lendStaging(staging);
  answerOver(port, lent.answers);
  /** What the thread is doing. */
  const inHand = new Set<string>();
  const failed = (cause: unknown): CheckFailure =>
    checkFailure([...inHand].join(' and ') || 'starting a thread', cause);
  const ended = new Promise<never>((_, reject) => {
    worker.on('error', (cause) => reject(failed(cause)));
    worker.on('exit', (code) => reject(failed(new Error(`its thread ended with code ${code}`))));
  });
  ended.catch(() => undefined);
  const during = async <Result>(work: string, result: Promise<Result>): Promise<Result> => {
    inHand.add(work);
    return await result.finally(() => inHand.delete(work));
  };
  return {
    // What check-thread.ts answers: bytes came as plain arrays.
    check: async (task, onLines) => {
      const work = `checking ${task.part} from line ${task.linesBefore + 1} on`;
      tell = onLines;
      const found = (await during(work, call('check', task))) as CheckedSegment;
      return { ...found, chunks: found.chunks.map(asBuffer), rejected: found.rejected.map(asBuffer) };
    },
    merge: async (task) => (await during(`sorting the events of ${task.day}`, call('merge', task))) as MergedDay,
    ended,
    failure: lent.failure,
    close: async () => {
      await worker.terminate();
      await lent.close();
    },
  };
}

function isLinesRead(message: unknown): message is LinesRead {
  return typeof message === 'object' && message !== null && 'linesRead' in message;
}

/** Lines and what was read move to the thread instead of being copied. */
function memoryOf(message: unknown): ArrayBuffer[] {
  const { call, answer } = message as {
    readonly call?: { readonly args: readonly unknown[] };
    readonly answer?: { readonly value?: unknown };
  };
  const { lines } = (call?.args[0] ?? {}) as Partial<SegmentTask>;
  const value = answer?.value;
  return wholeMemory([lines, value].filter((each) => each instanceof Uint8Array));
}
