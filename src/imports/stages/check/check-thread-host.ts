import { Worker } from 'node:worker_threads';
import { throughputThreadLimits } from '../../../base/thread-limits.ts';
import { answerOver, callOver } from '../../../base/calls.ts';
import type { Staging } from '../../staging.ts';
import type { AloneSetup, CheckedSegment, SegmentTask } from './check-alone.ts';
import { asBuffer, lendStaging, wholeMemory } from './lent-staging.ts';
import type { MergedDay, MergeTask } from './merge-day.ts';
import type { SpillLimits } from './spill-buffer.ts';

/** What a thread is started with; structured clone. */
export interface CheckThreadData {
  readonly setup: AloneSetup;
  readonly limits: SpillLimits;
}

export interface CheckThread {
  check(task: SegmentTask): Promise<CheckedSegment>;
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
  const lent = lendStaging(staging);
  answerOver(port, lent.answers);
  const ended = new Promise<never>((_, reject) => {
    worker.on('error', (cause) => reject(new Error('a thread of the check failed', { cause })));
    worker.on('exit', (code) =>
      reject(new Error(`expected a thread of the check to go on, it ended with code ${code}`)),
    );
  });
  ended.catch(() => undefined);
  return {
    // What check-thread.ts answers: bytes came as plain arrays.
    check: async (task) => {
      const found = (await call('check', task)) as CheckedSegment;
      return { ...found, chunks: found.chunks.map(asBuffer), rejected: found.rejected.map(asBuffer) };
    },
    merge: async (task) => (await call('merge', task)) as MergedDay,
    ended,
    failure: lent.failure,
    close: async () => {
      await worker.terminate();
      await lent.close();
    },
  };
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
