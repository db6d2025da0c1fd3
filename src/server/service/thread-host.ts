/** Supervises a thread or process of the service from the main thread: starts, calls, restarts and stops it. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ResourceLimits } from 'node:worker_threads';
import { backoffMs } from '../../base/retry.ts';
import { answerOver, callOver, type Answers, type Call, type CallPort } from '../../base/calls.ts';
import type { ScanSender } from '../../wire/batch/scan-relay.ts';
import type { HealthResult } from '../http/health.ts';
import { applyForwarded, type MetricMessage } from '../telemetry/forwarded-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { startProcess, startThread, type HostedWorker, type ProcessLimits } from './hosted-worker.ts';
import type { ThreadData } from './thread.ts';

export interface ThreadHost {
  start(): void;
  /** Whether the thread runs, answers and reports itself healthy. */
  health(): Promise<HealthResult>;
  /** Lets the thread finish current work and close its stores; ends one that is still starting. */
  stop(): Promise<void>;
}

export interface HostedThread {
  /** Also the component in metrics. */
  readonly name: 'pipeline' | 'imports';
  readonly entry: URL;
  readonly data: ThreadData;
  /** Connection to capture's scans. */
  readonly scans?: Pick<ScanSender, 'connect'> | undefined;
  /** Heap limits, by default V8's. */
  readonly limits?: ResourceLimits;
  /** Uses a separate process with these limits instead of a thread. */
  readonly process?: ProcessLimits;
  /** Time after which a process that does not answer is killed, since nothing interrupts it. Default one minute. */
  readonly stuckMsMax?: number;
}

export interface HostDeps {
  readonly metrics: Metrics;
  readonly log: Log;
  readonly answers: Answers;
  /** Called whenever a thread is ready; the returned function is called when it ends. */
  readonly onReady?: (call: Call) => () => void;
  /** Called with the reason when it has ended on its own or over a limit, before it is restarted. */
  readonly onEnd?: (how: string) => Promise<void>;
}

interface Running {
  readonly worker: HostedWorker;
  readonly call: Call;
  readonly startedAt: number;
  /** Whether its stores are open. */
  ready: boolean;
}

const firstRestartMs = 200;
const restartMsMax = 10_000;
/** A thread that lived this long worked: its end is unrelated to earlier ones. */
const goodLifeMs = 60_000;
const startMsMax = 30_000;
const answerMsMax = 3000;
const stuckMsDefault = 60_000;
const pollMs = 5000;
/** Time for a process to stop before it is killed. */
const stopMsMax = 15_000;

/** Number of consecutive deaths soon after a start, before the one after `livedMs`. */
export function deathsBefore(deaths: number, livedMs: number): number {
  return livedMs > goodLifeMs ? 0 : deaths;
}

export function hostThread(hosted: HostedThread, { metrics, log, answers, onReady, onEnd }: HostDeps): ThreadHost {
  const { name } = hosted;
  let running: Running | undefined;
  let stopping = false;
  let deaths = 0;
  let restart: NodeJS.Timeout | undefined;

  const start = (): void => {
    const worker = startWorker(hosted);
    const port: CallPort = { postMessage: worker.post, on: (_event, listener) => worker.onMessage(listener) };
    const started: Running = { worker, call: callOver(port), startedAt: performance.now(), ready: false };
    running = started;
    let ended: (() => void) | undefined;
    worker.onMessage((message) => {
      const { metrics: counted, ready } = message as { metrics?: MetricMessage[]; ready?: true };
      if (counted !== undefined) applyForwarded(metrics, counted);
      if (ready) {
        started.ready = true;
        ended = onReady?.(started.call);
      }
    });
    answerOver(port, answers);
    const unwatch = hosted.process === undefined ? undefined : watchTurns(started, hosted.stuckMsMax);
    void worker.ended.then(async (how) => {
      unwatch?.();
      ended?.();
      running = undefined;
      if (stopping) return;
      log.error({ how }, `${words[name].log} failed; restarting`);
      metrics.count('millrace_component_errors_total', { component: name, error_type: 'thread_ended' });
      const attempt = deathsBefore(deaths, performance.now() - started.startedAt);
      deaths = attempt + 1;
      await onEnd?.(how);
      if (!stopping) restart = setTimeout(start, backoffMs(attempt, firstRestartMs, restartMsMax));
    });
  };
  return {
    start,
    health: () => healthOf(running, name),
    stop: async () => {
      stopping = true;
      clearTimeout(restart);
      if (running === undefined) return;
      const { worker, ready } = running;
      // Unavailable stores or a busy machine could keep it starting for longer than stopping may take.
      if (ready) worker.post({ stop: true });
      else worker.kill('it was stopped while it started');
      const late = setTimeout(() => hosted.process && worker.kill('it did not stop'), stopMsMax);
      await worker.ended;
      clearTimeout(late);
    },
  };
}

function startWorker({ entry, data, scans, limits = {}, process: own }: HostedThread): HostedWorker {
  // Shared memory stays in this process.
  if (own !== undefined) return startProcess(entry, { ...data, shared: { ...data.shared, eventLog: undefined } }, own);
  const link = scans?.connect();
  return startThread(entry, { ...data, ...(link && { scans: link }) }, limits);
}

/** Kills a process whose main thread does not answer: nothing else can interrupt it. */
function watchTurns({ worker, call }: Running, stuckMsMax = stuckMsDefault): () => void {
  const everyMs = Math.min(pollMs, stuckMsMax / 4);
  let answeredAt = performance.now();
  let asked = false;
  const ping = async (): Promise<void> => {
    if (performance.now() - answeredAt > stuckMsMax) return worker.kill(`it did not answer for ${stuckMsMax / 1000} s`);
    if (asked) return;
    asked = true;
    await call('health');
    asked = false;
    answeredAt = performance.now();
  };
  let polledAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    // If this thread was blocked itself, the answer may be waiting to be read.
    if (now - polledAt > 2 * everyMs) answeredAt = now;
    polledAt = now;
    void ping();
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

const words = {
  pipeline: { thread: 'The pipeline thread', log: 'the pipeline thread', waiting: 'events are waiting in the log' },
  imports: {
    thread: 'The import process',
    log: 'the import process',
    waiting: 'runs are waiting for it and will be resumed',
  },
} as const;

async function healthOf(running: Running | undefined, name: HostedThread['name']): Promise<HealthResult> {
  const { thread, waiting } = words[name];
  if (running === undefined) return { ok: false, detail: `${thread} has ended and is being restarted; ${waiting}.` };
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
