/** A thread or process of the service as the main thread sees it: started, answered, started again when it dies, stopped. */
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
  /** Given: a process of its own with these limits instead of a thread. */
  readonly process?: ProcessLimits;
  /** Of the process: one that does not answer for so long is stuck in something that cannot be interrupted. Default: a minute. */
  readonly stuckMsMax?: number;
}

export interface HostDeps {
  readonly metrics: Metrics;
  readonly log: Log;
  readonly answers: Answers;
  /** Called with every thread that is at work; what it returns is called when that one ends. */
  readonly onReady?: (call: Call) => () => void;
  /** Called when it has ended by itself or over a limit, with how; before it is started again. */
  readonly onEnd?: (how: string) => Promise<void>;
}

interface Running {
  readonly worker: HostedWorker;
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
const stuckMsDefault = 60_000;
const pollMs = 5000;
/** Of a process that is to stop, until it is killed. */
const stopMsMax = 15_000;

/** How many threads died one after the other, each soon after its start, before the one that lived `livedMs`. */
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
      log.error({ how }, `${words[name].log} failed and is started again`);
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
      // Stores that are away, or a machine that is busy, would keep it starting for longer than it may take to stop.
      if (ready) worker.post({ stop: true });
      else worker.kill('it was stopped while it started');
      const late = setTimeout(() => hosted.process && worker.kill('it did not stop'), stopMsMax);
      await worker.ended;
      clearTimeout(late);
    },
  };
}

function startWorker({ entry, data, scans, limits = {}, process: own }: HostedThread): HostedWorker {
  // Memory that is shared with a thread stays in this process.
  if (own !== undefined) return startProcess(entry, { ...data, shared: { ...data.shared, eventLog: undefined } }, own);
  const link = scans?.connect();
  return startThread(entry, { ...data, ...(link && { scans: link }) }, limits);
}

/** Kills a process whose main thread does not answer any more: nothing else ends what it is at. */
function watchTurns({ worker, call }: Running, stuckMsMax = stuckMsDefault): () => void {
  const everyMs = Math.min(pollMs, stuckMsMax / 4);
  let answeredAt = performance.now();
  let asked = false;
  const look = async (): Promise<void> => {
    if (performance.now() - answeredAt > stuckMsMax) return worker.kill(`it did not answer for ${stuckMsMax / 1000} s`);
    if (asked) return;
    asked = true;
    await call('health');
    asked = false;
    answeredAt = performance.now();
  };
  let lookedAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    // When this thread was held up itself, the answer may be waiting to be read.
    if (now - lookedAt > 2 * everyMs) answeredAt = now;
    lookedAt = now;
    void look();
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

const words = {
  pipeline: { thread: 'The thread of the pipeline', log: 'the pipeline thread', waiting: 'events wait in the log' },
  imports: {
    thread: 'The process of imports',
    log: 'the process of imports',
    waiting: 'runs wait for it and continue where they were',
  },
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
