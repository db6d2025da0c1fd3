/** A thread of the service as it sees itself: the settings, and the main thread beside it. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ScanLink } from '../batch/scan-relay.ts';
import { answerOver, callOver, type Answers, type Call, type CallPort } from '../base/calls.ts';
import type { Settings } from '../config/settings.ts';
import type { HealthResult } from '../http/health.ts';
import { forwardMetrics } from '../telemetry/forwarded-metrics.ts';
import { createLog, stderrLines, type Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { SharedStores } from './stores.ts';

/** What the main thread gives; copied. */
export interface ThreadData {
  readonly settings: Settings;
  readonly shared: SharedStores;
  /** For the pipeline, where capture is in the same process. */
  readonly scans?: ScanLink;
}

export interface ServiceThread extends ThreadData {
  readonly log: Log;
  readonly metrics: Metrics;
  /** Asks the main thread. */
  readonly call: Call;
  /** To be called once it is at work. `stop` finishes what is in hand and closes the stores. */
  serve(work: ThreadWork): void;
}

export interface ThreadWork {
  readonly health: () => Promise<HealthResult>;
  /** What else the main thread may ask. */
  readonly answers?: Answers;
  readonly stop: () => Promise<void>;
}

/** @param movable memory in a message that can move to the main thread instead of being copied */
export function openThread(movable: (message: unknown) => ArrayBuffer[] = () => []): ServiceThread {
  const port = parentPort;
  if (port === null) throw new Error('expected to run as a worker thread of the service');
  const data = workerData as ThreadData;
  const metrics = forwardMetrics(port);
  const calls: CallPort = {
    postMessage: (message) => port.postMessage(message, movable(message)),
    on: port.on.bind(port),
  };
  // At once: a message that comes while the stores are opened must find its listener.
  const asked = Promise.withResolvers<void>();
  port.on('message', (message: { stop?: true }) => {
    if (message.stop) asked.resolve();
  });
  return {
    ...data,
    log: createLog(
      data.settings.logLevel,
      stderrLines(() => metrics.count('millrace_log_lines_dropped_total', {})),
    ),
    metrics,
    call: callOver(calls),
    serve: async ({ health, answers, stop }) => {
      answerOver(calls, { ...answers, health });
      port.postMessage({ ready: true });
      await asked.promise;
      await stop();
      metrics.flush();
      // The last open handle: without it the thread ends.
      port.close();
    },
  };
}
