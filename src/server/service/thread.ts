/** A thread or process of the service as it sees itself: the settings, and the main thread beside it. */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { endWithParent, leaveParent } from '../../base/end-with-parent.ts';
import type { ScanLink } from '../../wire/batch/scan-relay.ts';
import { answerOver, callOver, type Answers, type Call, type CallPort } from '../../base/calls.ts';
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

/** To the main thread. */
interface ParentPort extends CallPort {
  close(): void;
}

export function openThread(): ServiceThread {
  const port = parentPort;
  if (port === null) throw new Error('expected to run as a worker thread of the service');
  const own: ParentPort = {
    postMessage: (message) => port.postMessage(message, []),
    on: port.on.bind(port),
    // The last open handle: without it the thread ends.
    close: () => port.close(),
  };
  return serviceThread(own, workerData as ThreadData);
}

/** As a process of its own, started by `startProcess` of hosted-worker.ts. */
export async function openProcess(): Promise<ServiceThread> {
  endWithParent();
  const [{ init }] = (await once(process, 'message')) as [{ readonly init: ThreadData }];
  return serviceThread({ ...processPort, close: leaveParent }, init);
}

/** Of the process that has started this one. */
export const processPort: CallPort = {
  // When that is gone, this process is ended.
  postMessage: (message) => void (process.connected && process.send?.(message, undefined, {}, () => undefined)),
  on: (event, listener) => process.on(event, listener),
};

function serviceThread(port: ParentPort, data: ThreadData): ServiceThread {
  const metrics = forwardMetrics(port);
  // At once: a message that comes while the stores are opened must find its listener.
  const asked = Promise.withResolvers<void>();
  port.on('message', (message) => {
    if ((message as { stop?: true }).stop) asked.resolve();
  });
  return {
    ...data,
    log: createLog(
      data.settings.logLevel,
      stderrLines(() => metrics.count('millrace_log_lines_dropped_total', {})),
    ),
    metrics,
    call: callOver(port),
    serve: async ({ health, answers, stop }) => {
      answerOver(port, { ...answers, health });
      port.postMessage({ ready: true });
      await asked.promise;
      await stop();
      metrics.flush();
      port.close();
    },
  };
}
