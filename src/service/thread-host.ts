/** A thread of the service as the main thread sees it: started, answered, started again when it dies, stopped. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker, type ResourceLimits } from 'node:worker_threads';
import { backoffMs } from '../base/retry.ts';
import { answerOver, callOver, type Answers, type Call, type CallPort } from '../base/calls.ts';
import type { ScanSender } from '../batch/scan-relay.ts';
import type { HealthResult } from '../http/health.ts';
import { applyForwarded, type MetricMessage } from '../telemetry/forwarded-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ThreadData } from './thread.ts';

export interface ThreadHost {
  start(): void;
  /** Whether the thread is there, answers, and is well by its own account. */
  health(): Promise<HealthResult>;
  /** Lets the thread finish what it has in hand and close its stores; one that has not begun is ended at once. */
  stop(): Promise<void>;
}

export interface HostedThread {
  /** Also the component in the metrics: `pipeline`. */
  readonly name: 'pipeline' | 'imports';
  readonly entry: URL;
  readonly data: ThreadData;
  /** What it is to have from capture. */
  readonly scans?: Pick<ScanSender, 'connect'> | undefined;
  /** Of its heap. Default: V8's. */
  readonly limits?: ResourceLimits;
}

export interface HostDeps {
  readonly metrics: Metrics;
  readonly log: Log;
  readonly answers: Answers;
  /** Called with every thread that is at work; what it returns is called when that one ends. */
  readonly onReady?: (call: Call) => () => void;
}

interface Running {
  readonly thread: Worker;
  readonly call: Call;
  readonly startedAt: number;
  /** Its stores are open. */
  ready: boolean;
}

const firstRestartMs = 200;
const restartMsMax = 10_000;
/** A thread that lived so long did its work: what ended it is not what ended the one before. */
const goodLifeMs = 60_000;
const startMsMax = 30_000;
const answerMsMax = 3000;

/** How many threads died one after the other, each soon after its start, before the one that lived `livedMs`. */
export function deathsBefore(deaths: number, livedMs: number): number {
  return livedMs > goodLifeMs ? 0 : deaths;
}

export function hostThread(
  { name, entry, data, scans, limits = {} }: HostedThread,
  { metrics, log, answers, onReady }: HostDeps,
): ThreadHost {
  let running: Running | undefined;
  let stopping = false;
  let deaths = 0;
  let restart: NodeJS.Timeout | undefined;

  const start = (): void => {
    const link = scans?.connect();
    const thread = new Worker(entry, {
      workerData: { ...data, ...(link && { scans: link }) } satisfies ThreadData,
      transferList: link ? [link.port] : [],
      resourceLimits: limits,
    });
    const port: CallPort = {
      postMessage: (message) => thread.postMessage(message, []),
      on: thread.on.bind(thread),
    };
    const started: Running = { thread, call: callOver(port), startedAt: performance.now(), ready: false };
    running = started;
    let ended: (() => void) | undefined;
    thread.on('message', (message: { metrics?: MetricMessage[]; ready?: true }) => {
      if (message.metrics !== undefined) applyForwarded(metrics, message.metrics);
      if (message.ready) {
        started.ready = true;
        ended = onReady?.(started.call);
      }
    });
    answerOver(port, answers);
    thread.on('error', (error) => log.error({ err: error }, `the ${name} thread failed and is started again`));
    thread.on('exit', () => {
      ended?.();
      running = undefined;
      if (stopping) return;
      metrics.count('millrace_component_errors_total', { component: name, error_type: 'thread_ended' });
      const attempt = deathsBefore(deaths, performance.now() - started.startedAt);
      deaths = attempt + 1;
      restart = setTimeout(start, backoffMs(attempt, firstRestartMs, restartMsMax));
    });
  };
  return {
    start,
    health: () => healthOf(running, name),
    stop: async () => {
      stopping = true;
      clearTimeout(restart);
      if (running === undefined) return;
      const { thread, ready } = running;
      const ended = once(thread, 'exit');
      // Stores that are away, or a machine that is busy, would keep it starting for longer than it may take to stop.
      if (ready) thread.postMessage({ stop: true }, []);
      else await thread.terminate();
      await ended;
    },
  };
}

const words = {
  pipeline: { thread: 'The thread of the pipeline', waiting: 'events wait in the log' },
  imports: { thread: 'The thread of imports', waiting: 'runs wait for it and go on where they were' },
} as const;

async function healthOf(running: Running | undefined, name: HostedThread['name']): Promise<HealthResult> {
  const { thread, waiting } = words[name];
  if (running === undefined)
    return { ok: false, detail: `${thread} has ended and is being started again; ${waiting}.` };
  if (!running.ready && performance.now() - running.startedAt < startMsMax) return { ok: true, detail: 'starting' };
  const answered = new AbortController();
  const late = delay(answerMsMax, undefined, { signal: answered.signal }).then((): HealthResult => {
    const seconds = answerMsMax / 1000;
    return { ok: false, detail: `${thread} has not answered for ${seconds} s; ${waiting}.` };
  });
  late.catch(() => undefined);
  const own = running.call('health') as Promise<HealthResult>;
  return await Promise.race([own, late]).finally(() => answered.abort());
}
