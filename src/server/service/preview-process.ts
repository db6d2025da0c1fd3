/** Runs a preview or preflight in a separate process, within limits of time and memory. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PreviewAnswer } from '../api/preview-answer.ts';
import { callOver } from '../../base/calls.ts';
import { startProcess, type HostedWorker } from './hosted-worker.ts';
import { previewMemoryEnv } from './import-limits.ts';
import type { ServiceDeps } from './service-deps.ts';

export interface SourceTask {
  readonly what: 'preview' | 'preflight';
  readonly order: object;
  /** What is read, for messages. */
  readonly shown: string;
}

export interface PreviewProcessDeps extends Pick<ServiceDeps, 'settings'>, Partial<Pick<ServiceDeps, 'shared'>> {
  /** Time limit of the task, default 15 s. */
  readonly timeMsMax?: number;
}

/** Short, since a user is waiting. */
const answerMsMax = 15_000;
/** Its stores may be unavailable; then it never becomes ready. */
const startMsMax = 30_000;

/**
 * Kills the process beyond a limit and returns the limit as a refusal. Rejects if it does not start, on a fault of the program, and
 * with the signal's reason.
 */
export async function runPreviewProcess(
  deps: PreviewProcessDeps,
  task: SourceTask,
  signal: AbortSignal,
): Promise<PreviewAnswer> {
  signal.throwIfAborted();
  const { settings, shared, timeMsMax = Math.max(answerMsMax, deps.settings.importPreflightMs + 5000) } = deps;
  // Created here, so that it is removed when the process is killed.
  const tempDir = await mkdtemp(join(tmpdir(), `millrace-${task.what}-`));
  const data = { settings, shared: { embedded: shared?.embedded, eventLog: undefined } };
  const worker = startProcess(new URL('./import-preview-process.ts', import.meta.url), data, {
    memoryBytesMax: settings.importPreviewMemoryBytesMax,
    memoryLimit: previewMemoryEnv,
  });
  const over = new AbortController();
  const end = (): void => worker.kill('it was cancelled');
  signal.addEventListener('abort', end, { once: true });
  const killAfter = (ms: number, why: string): void =>
    void delay(ms, undefined, { signal: over.signal }).then(
      () => worker.kill(why),
      () => undefined,
    );
  try {
    killAfter(startMsMax, `it did not start within ${startMsMax / 1000} s`);
    await startOf(worker, signal);
    killAfter(timeMsMax, `it took longer than ${timeMsMax / 1000} s`);
    return await answerOf(worker, { ...task, order: { ...task.order, tempDir } }, signal);
  } finally {
    signal.removeEventListener('abort', end);
    over.abort();
    worker.kill('it is done');
    await worker.ended;
    // Its own children end shortly after it.
    await rm(tempDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

async function startOf(worker: HostedWorker, signal: AbortSignal): Promise<void> {
  const ready = new Promise<void>((resolve) =>
    worker.onMessage((message) => (message as { ready?: true }).ready && resolve()),
  );
  const how = await Promise.race([ready, worker.ended]);
  if (how === undefined) return;
  signal.throwIfAborted();
  throw new Error(`expected a process to read the source in, got none: ${how}`);
}

async function answerOf(
  worker: HostedWorker,
  { what, order, shown }: SourceTask,
  signal: AbortSignal,
): Promise<PreviewAnswer> {
  const call = callOver({ postMessage: worker.post, on: (_event, listener) => worker.onMessage(listener) });
  const ended = worker.ended.then((how): PreviewAnswer => {
    signal.throwIfAborted();
    const advice = 'a run has more of both: start one with a limit, or give smaller files';
    return { kind: 'refused', reason: `The ${what} of ${shown} was stopped: ${how}; ${advice}.` };
  });
  ended.catch(() => undefined);
  // Sound: the process only answers with this type.
  return await Promise.race([call(what, order) as Promise<PreviewAnswer>, ended]);
}
