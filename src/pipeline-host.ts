import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { backoffMs } from './base/backoff.ts';
import { answerOver, type Answers } from './base/calls.ts';
import type { PipelineThreadData } from './pipeline-thread.ts';
import { applyForwarded, type MetricMessage } from './telemetry/forwarded-metrics.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';

/** The pipeline's thread as the main thread sees it. */
export interface PipelineHost {
  start(): void;
  /** Whether a thread is at work; false for the moment between two. */
  running(): boolean;
  /** Lets the thread finish its window and close its stores. */
  stop(): Promise<void>;
}

const firstRestartMs = 200;
const restartMsMax = 10_000;
/** A thread that lived so long did its work: what ended it is not what ended the one before. */
const goodLifeMs = 60_000;

/** How many threads died one after the other, each soon after its start, before the one that lived `livedMs`. */
export function deathsBefore(deaths: number, livedMs: number): number {
  return livedMs > goodLifeMs ? 0 : deaths;
}

/**
 * Runs the pipeline in a thread of its own, and starts it again when it dies. What it had not committed is read from the
 * log again, so nothing is lost and nothing doubled by that.
 */
export function hostPipeline(
  data: PipelineThreadData,
  deps: { readonly metrics: Metrics; readonly log: Log; readonly answers: Answers },
): PipelineHost {
  const { metrics, log, answers } = deps;
  let worker: Worker | undefined;
  let stopping = false;
  let deaths = 0;
  let restart: NodeJS.Timeout | undefined;

  const start = (): void => {
    const startedAt = performance.now();
    const thread = new Worker(new URL('./pipeline-thread.ts', import.meta.url), { workerData: data });
    worker = thread;
    thread.on('message', (message: { metrics?: MetricMessage[] }) => {
      if (message.metrics !== undefined) applyForwarded(metrics, message.metrics);
    });
    answerOver({ postMessage: (message) => thread.postMessage(message, []), on: thread.on.bind(thread) }, answers);
    thread.on('error', (error) => log.error({ err: error }, 'the pipeline thread failed and is started again'));
    thread.on('exit', () => {
      worker = undefined;
      if (stopping) return;
      metrics.count('millrace_component_errors_total', { component: 'pipeline', error_type: 'thread_ended' });
      const attempt = deathsBefore(deaths, performance.now() - startedAt);
      deaths = attempt + 1;
      restart = setTimeout(start, backoffMs(attempt, firstRestartMs, restartMsMax));
    });
  };
  return {
    start,
    running: () => worker !== undefined,
    stop: async () => {
      stopping = true;
      clearTimeout(restart);
      if (worker === undefined) return;
      const ended = once(worker, 'exit');
      worker.postMessage({ stop: true }, []);
      await ended;
    },
  };
}
