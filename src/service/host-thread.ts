/** A thread of the service as the main thread sees it: started, answered, started again when it dies, stopped. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { backoffMs } from '../base/retry.ts';
import { answerOver, type Answers } from '../base/calls.ts';
import { applyForwarded, type MetricMessage } from '../telemetry/forwarded-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface ThreadHost {
  start(): void;
  /** Whether a thread is at work; false for the moment between two. */
  running(): boolean;
  /** Lets the thread finish what it has in hand and close its stores. */
  stop(): Promise<void>;
}

export interface HostedThread {
  /** Also the component in the metrics: `pipeline`. */
  readonly name: string;
  readonly entry: URL;
  /** What the thread is given; copied. */
  readonly data: unknown;
}

export interface HostDeps {
  readonly metrics: Metrics;
  readonly log: Log;
  readonly answers: Answers;
}

const firstRestartMs = 200;
const restartMsMax = 10_000;
/** A thread that lived so long did its work: what ended it is not what ended the one before. */
const goodLifeMs = 60_000;

/** How many threads died one after the other, each soon after its start, before the one that lived `livedMs`. */
export function deathsBefore(deaths: number, livedMs: number): number {
  return livedMs > goodLifeMs ? 0 : deaths;
}

export function hostThread({ name, entry, data }: HostedThread, { metrics, log, answers }: HostDeps): ThreadHost {
  let worker: Worker | undefined;
  let stopping = false;
  let deaths = 0;
  let restart: NodeJS.Timeout | undefined;

  const start = (): void => {
    const startedAt = performance.now();
    const thread = new Worker(entry, { workerData: data });
    worker = thread;
    thread.on('message', (message: { metrics?: MetricMessage[] }) => {
      if (message.metrics !== undefined) applyForwarded(metrics, message.metrics);
    });
    answerOver({ postMessage: (message) => thread.postMessage(message, []), on: thread.on.bind(thread) }, answers);
    thread.on('error', (error) => log.error({ err: error }, `the ${name} thread failed and is started again`));
    thread.on('exit', () => {
      worker = undefined;
      if (stopping) return;
      metrics.count('millrace_component_errors_total', { component: name, error_type: 'thread_ended' });
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
