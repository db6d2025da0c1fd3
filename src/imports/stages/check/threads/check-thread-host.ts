import { Worker } from 'node:worker_threads';
import { throughputThreadLimits } from '../../../../base/thread-limits.ts';
import { asBuffer, isMovable } from '../../../../base/free-memory.ts';
import { answerOver, callOver } from '../../../../base/calls.ts';
import type { Transform, TransformAbout } from '../../../transform.ts';
import { checkFailure, type CheckFailure } from '../check-failure.ts';
import type { AloneSetup, CheckedSegment, SegmentTask } from './check-alone.ts';
import type { OnLines } from '../segment/check-segment.ts';
import type { WorkersOptions } from './check-workers.ts';
import type { KeptOutList } from '../../../../wire/contract/kept-out.ts';
import type { PlanText } from '../../../run/tracking-plan-of.ts';
import type { TableText } from '../read-tables.ts';
import { answerTransform } from '../segment/transform-over.ts';

/** Start data of a thread; structured clone. */
export interface CheckThreadData {
  readonly setup: AloneSetup;
  readonly tables: readonly TableText[];
  /** `undefined` if the run has no transform. */
  readonly transform: TransformAbout | undefined;
  readonly plan: PlanText | undefined;
  readonly keptOut: KeptOutList | undefined;
}

/** Progress message of a thread: how many lines of the segment it has read. */
export interface LinesRead {
  readonly linesRead: number;
}

export interface CheckThread {
  /** Checks one segment at a time. */
  check(task: SegmentTask, onLines: OnLines): Promise<CheckedSegment>;
  /** Rejects when the thread has ended. */
  readonly ended: Promise<never>;
  close(): Promise<void>;
}

/** `onFailure` receives errors of the transform. */
export function startCheckThread(
  { setup, tables, transform, plan, keptOut }: WorkersOptions,
  onFailure: (error: Error) => void,
): CheckThread {
  const worker = new Worker(new URL('./check-thread.ts', import.meta.url), {
    workerData: { setup, tables, transform: transform && aboutOf(transform), plan, keptOut } satisfies CheckThreadData,
    resourceLimits: throughputThreadLimits,
  });
  const port = {
    postMessage: (message: unknown) => worker.postMessage(message, memoryOf(message)),
    on: (event: 'message', listener: (message: unknown) => void) => worker.on(event, listener),
  };
  const call = callOver(port);
  const code = answerTransform(transform, onFailure);
  answerOver(port, code.answers);
  /** Receives the progress of the present segment. */
  let report: OnLines | undefined;
  port.on('message', (message) => {
    if (isLinesRead(message)) report?.(message.linesRead);
  });
  /** Present work of the thread, for errors. */
  let work = 'starting a thread';
  const failed = (cause: unknown): CheckFailure => checkFailure(work, cause);
  const ended = new Promise<never>((_, reject) => {
    worker.on('error', (cause) => reject(failed(cause)));
    worker.on('exit', (code) => reject(failed(new Error(`its thread ended with code ${code}`))));
  });
  ended.catch(() => undefined);
  return {
    // check-thread.ts responds; bytes arrive as plain arrays.
    check: async (task, onLines) => {
      work = `checking ${task.part} from line ${task.linesBefore + 1} on`;
      report = onLines;
      const checked = (await call('check', task)) as CheckedSegment;
      return { ...checked, rejected: checked.rejected.map(asBuffer) };
    },
    ended,
    close: async () => {
      await worker.terminate();
      await code.close();
    },
  };
}

function aboutOf({ name, projectId, receivedAt }: Transform): TransformAbout {
  return { name, projectId, receivedAt };
}

function isLinesRead(message: unknown): message is LinesRead {
  return typeof message === 'object' && message !== null && 'linesRead' in message;
}

/** Lines are transferred to the thread instead of being copied. */
function memoryOf(message: unknown): ArrayBuffer[] {
  const { call } = message as { readonly call?: { readonly args: readonly unknown[] } };
  const { lines } = (call?.args[0] ?? {}) as Partial<SegmentTask>;
  return lines !== undefined && isMovable(lines) ? [lines.buffer] : [];
}
