/** A thread that checks segments of one run, each alone, on request. */
import { flushCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { asBuffer, isMovable } from '../../../../base/free-memory.ts';
import { answerOver, callOver } from '../../../../base/calls.ts';
import { checkAlone, type CheckedSegment, type SegmentTask } from './check-alone.ts';
import type { CheckThreadData, LinesRead } from './check-thread-host.ts';
import { createCheckTools } from '../check-tools.ts';
import { transformOver } from '../segment/transform-over.ts';

flushCompileCache();
const parent = parentPort;
if (parent === null) throw new Error('expected to run as a thread of the check');
// check-thread-host.ts provides it.
const { setup, tables, transform, plan, keptOut } = workerData as CheckThreadData;
const port = {
  postMessage: (message: unknown) => parent.postMessage(message, memoryOf(message)),
  on: (event: 'message', listener: (message: unknown) => void) => parent.on(event, listener),
};
// The host terminates the thread.
const { signal } = new AbortController();
const call = callOver(port);
const tools = createCheckTools(tables, transform && transformOver(call, transform), plan, keptOut);
answerOver(port, {
  check: (task: SegmentTask) => checkAlone(setup, { ...task, lines: asBuffer(task.lines) }, { tools, signal, onLines }),
});

function onLines(linesRead: number): void {
  port.postMessage({ linesRead } satisfies LinesRead);
}

/** Rows and numbers are transferred back instead of being copied. */
function memoryOf(message: unknown): ArrayBuffer[] {
  const { answer } = message as { readonly answer?: { readonly value?: unknown } };
  const { found, rejected = [], handOver } = (answer?.value ?? {}) as Partial<CheckedSegment>;
  if (found === undefined || handOver === undefined) return [];
  const columns = [...found.rows.chunks, ...(found.facts?.chunks ?? [])];
  const counted = handOver.memories.counted.map(({ saved }) => saved);
  const { count: _, ...links } = handOver.deferred.links;
  const views: readonly ArrayBufferView[] = [...columns, ...rejected, ...counted, ...Object.values(links)];
  return [...new Set(views.filter(isMovable).map(({ buffer }) => buffer))];
}
