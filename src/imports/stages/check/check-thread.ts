/** A thread that checks segments and merges days of one run, each alone, as it is asked to. */
import { parentPort, workerData } from 'node:worker_threads';
import { answerOver, callOver, type Answers } from '../../../base/calls.ts';
import { checkAlone, type CheckedSegment, type SegmentTask } from './check-alone.ts';
import type { CheckThreadData, LinesRead } from './check-thread-host.ts';
import { asBuffer, lentStaging, wholeMemory } from './lent-staging.ts';
import { createCheckTools, type CheckTools } from './check-tools.ts';
import { mergeDay, type MergedDay, type MergeTask } from './merge-day.ts';

const parent = parentPort;
if (parent === null) throw new Error('expected to run as a thread of the check');
// What check-thread-host.ts gives.
const { setup, limits } = workerData as CheckThreadData;
const port = {
  postMessage: (message: unknown) => parent.postMessage(message, memoryOf(message)),
  on: (event: 'message', listener: (message: unknown) => void) => parent.on(event, listener),
};
const staging = lentStaging(callOver(port), 'staging');
// It is ended from outside.
const { signal } = new AbortController();
answerOver(port, createTasks());

function onLines(linesRead: number): void {
  port.postMessage({ linesRead } satisfies LinesRead);
}

function createTasks(): Answers {
  let tools: CheckTools | undefined;
  return {
    check: (task: SegmentTask) => {
      tools ??= createCheckTools(limits);
      return checkAlone(setup, { ...task, lines: asBuffer(task.lines) }, { tools, signal, onLines });
    },
    merge: (task: MergeTask) => {
      // Segments are done by then.
      tools = undefined;
      return mergeDay({ staging, signal }, task);
    },
  };
}

/** Blocks, frames and numbers move back instead of being copied. */
function memoryOf(message: unknown): ArrayBuffer[] {
  const { call, answer } = message as {
    readonly call?: { readonly args: readonly unknown[] };
    readonly answer?: { readonly value?: unknown };
  };
  const { chunks = [], rejected = [], handOver, keys } = (answer?.value ?? {}) as Partial<CheckedSegment & MergedDay>;
  const ofSegment =
    handOver === undefined ? [] : [handOver.links, ...handOver.memories.counted.map(({ saved }) => saved)];
  const numbers = [...ofSegment, ...(keys === undefined ? [] : [keys])].map(bytesOf);
  const frames = (call?.args ?? []).filter((each) => each instanceof Uint8Array);
  return wholeMemory([...chunks, ...rejected, ...numbers, ...frames]);
}

function bytesOf({ buffer: memory, byteOffset, byteLength }: Float64Array | Uint32Array): Uint8Array {
  return new Uint8Array(memory, byteOffset, byteLength);
}
