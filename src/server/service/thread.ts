/** A thread or process of the service from its own perspective: settings, and calls to the main thread. */
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

/** Data from the main thread; copied. */
export interface ThreadData {
  readonly settings: Settings;
  readonly shared: SharedStores;
  /** For the pipeline, if capture is in the same process. */
  readonly scans?: ScanLink;
}

export interface ServiceThread extends ThreadData {
  readonly log: Log;
  readonly metrics: Metrics;
  /** Calls the main thread. */
  readonly call: Call;
  /** Called once it is ready. `stop` finishes current work and closes the stores. */
  serve(work: ThreadWork): void;
}

export interface ThreadWork {
  readonly health: () => Promise<HealthResult>;
  /** Additional calls that the main thread may make. */
  readonly answers?: Answers;
  readonly stop: () => Promise<void>;
}

/** Port to the main thread. */
interface ParentPort extends CallPort {
  close(): void;
}

export function openThread(): ServiceThread {
  const port = parentPort;
  if (port === null) throw new Error('expected to run as a worker thread of the service');
  const own: ParentPort = {
    postMessage: (message) => port.postMessage(message, []),
    on: port.on.bind(port),
    // The last open handle: the thread ends without it.
    close: () => port.close(),
  };
  return serviceThread(own, workerData as ThreadData);
}

/** For a separate process, started by `startProcess` of hosted-worker.ts. */
export async function openProcess(): Promise<ServiceThread> {
  endWithParent();
  const [{ init }] = (await once(process, 'message')) as [{ readonly init: ThreadData }];
  return serviceThread({ ...processPort, close: leaveParent }, init);
}

/** Port to the parent process. */
const processPort: CallPort = {
  // This process ends with its parent.
  postMessage: (message) => void (process.connected && process.send?.(message, undefined, {}, () => undefined)),
  on: (event, listener) => process.on(event, listener),
};

function serviceThread(port: ParentPort, data: ThreadData): ServiceThread {
  const metrics = forwardMetrics(port);
  // Registered immediately: a message that arrives while stores are opened needs a listener.
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
