/**
 * The pipeline's thread: the second composition root, for what runs beside the main thread. It opens its own connections to
 * the same stores, so that nothing it does holds up an answer to a client.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { callOver } from '../base/calls.ts';
import { systemClock } from '../base/clock.ts';
import { createFailpoint } from '../base/failpoint.ts';
import type { Settings } from '../config/settings.ts';
import { openSqliteLogReader } from '../eventlog/sqlite/sqlite.ts';
import { connectChdb } from '../eventstore/chdb/chdb.ts';
import { connectClickhouse } from '../eventstore/clickhouse.ts';
import { openMetadata } from '../metadata/open.ts';
import { startPipeline } from '../pipeline/consumer.ts';
import { mainThreadOver } from './pipeline-calls.ts';
import { createPluginRuntime } from './plugin-runtime.ts';
import { WindowStorage } from '../plugins/services/window-storage.ts';
import { makeStep } from '../transform/make-step.ts';
import { forwardMetrics } from '../telemetry/forwarded-metrics.ts';
import { createLog } from '../telemetry/log.ts';

/** What the main thread gives this one. */
export interface PipelineThreadData {
  readonly settings: Settings;
  readonly logDir: string;
  readonly shared: SharedArrayBuffer;
  /** Of the embedded event store; absent with a ClickHouse server. */
  readonly store: { readonly socketPath: string; readonly spoolDir: string } | undefined;
}

const port = parentPort;
if (port === null) throw new Error('expected to run as a worker thread of the service');
const { settings, logDir, shared, store: embedded } = workerData as PipelineThreadData;

const metrics = forwardMetrics(port);
const log = createLog(settings.logLevel);
const { db } = openMetadata(settings, log);
const reader = openSqliteLogReader(logDir, shared);
const store = embedded
  ? connectChdb(embedded.socketPath, embedded.spoolDir)
  : await connectClickhouse(settings.clickhouseUrl);
const call = callOver({ postMessage: (message) => port.postMessage(message, []), on: port.on.bind(port) });
const pluginStorage = new WindowStorage(db);
const plugins = createPluginRuntime({
  db,
  settings,
  clock: systemClock,
  log,
  metrics,
  thread: 'pipeline',
  main: mainThreadOver(call),
  storageOf: (configId, projectId) => pluginStorage.of(configId, projectId),
});
const pipeline = startPipeline({
  reader,
  store,
  db,
  settings,
  metrics,
  log,
  clock: systemClock,
  makeStep: (config) => makeStep(config, plugins.steps),
  pluginStorage,
  logFailure: plugins.logFailure,
  failpoint: createFailpoint(settings.failAt, settings.allowFailpoints),
});

port.on('message', async (message: { stop?: true }) => {
  if (!message.stop) return;
  await pipeline.stop();
  await plugins.close();
  await reader.close();
  await store.close();
  await db.destroy();
  metrics.flush();
  // The last open handle: without it the thread ends.
  port.close();
});
