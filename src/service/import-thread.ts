/**
 * The thread of imports: a composition root beside main.ts and pipeline-thread.ts. Reading, converting and comparing years of
 * history takes all of a core; here it holds up neither an answer to a client nor the pipeline.
 */
import { rm } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { callOver } from '../base/calls.ts';
import { systemClock } from '../base/clock.ts';
import { createFailpoint } from '../base/failpoint.ts';
import type { Settings } from '../config/settings.ts';
import { sharedPositions } from '../eventlog/sqlite/shared.ts';
import { connectChdb } from '../eventstore/chdb/chdb.ts';
import { connectClickhouse } from '../eventstore/clickhouse.ts';
import { movableMemory } from './import-calls.ts';
import { freeStagingBytes, importDirs, openImportStaging } from './import-places.ts';
import { createImportStages } from './import-stages.ts';
import { createDiskQuota } from '../imports/stages/export/disk-quota.ts';
import { removeOfDeletedProjects, removeOldStaging } from '../imports/run/remove-old-staging.ts';
import { expireLeases } from '../imports/run/claim-run.ts';
import { startRunWorker } from '../imports/run/run-worker.ts';
import { openMetadata } from '../metadata/open.ts';
import { parseAllowList } from '../outbound/allow-list.ts';
import { readExtraCa } from '../outbound/extra-ca.ts';
import { createOutboundFetch } from '../outbound/safe-fetch.ts';
import { createOutboundStream } from '../outbound/stream.ts';
import type { PipelineThreadData } from './pipeline-thread.ts';
import { forwardMetrics } from '../telemetry/forwarded-metrics.ts';
import { createLog } from '../telemetry/log.ts';

/** What the main thread gives this one. */
export interface ImportThreadData {
  readonly settings: Settings;
  /** Of the event log: how far its lanes have come. */
  readonly shared: SharedArrayBuffer;
  readonly store: PipelineThreadData['store'];
}

/** Of requests of sources and to targets; larger than those of plugins. */
const answerMsMax = 120_000;
const answerBytesMax = 64 * 1024 * 1024;
const connectMsMax = 30_000;
const drainLookMs = 100;
const removeEveryMs = 600_000;

const port = parentPort;
if (port === null) throw new Error('expected to run as a worker thread of the service');
const { settings, shared, store: embedded } = workerData as ImportThreadData;

const log = createLog(settings.logLevel);
const metrics = forwardMetrics(port);
const clock = systemClock;
const dirs = importDirs(settings);
const { db } = openMetadata(settings, log);
const store = embedded
  ? connectChdb(embedded.socketPath, embedded.spoolDir)
  : await connectClickhouse(settings.clickhouseUrl, { queryTimeoutMs: settings.queryTimeoutMs });
const staging = await openImportStaging(settings);
const call = callOver({
  postMessage: (message) => port.postMessage(message, movableMemory(message)),
  on: port.on.bind(port),
});
const outbound = { allow: parseAllowList(settings.outboundAllow), ca: readExtraCa(settings.outboundCa) };
const fetch = createOutboundFetch({ ...outbound, timeoutMs: answerMsMax, bytesMax: answerBytesMax });
const stream = createOutboundStream({ ...outbound, connectTimeoutMs: connectMsMax, idleMs: answerMsMax });
const positions = sharedPositions(shared);

const parts = {
  db,
  store,
  staging,
  quota: createDiskQuota({
    staging,
    budgetBytes: settings.importDiskBudget,
    freeBytes: () => freeStagingBytes(dirs),
  }),
  settings,
  dirs,
  clock,
  log,
  failpoint: createFailpoint(settings.failAt, settings.allowFailpoints),
  allow: outbound.allow,
  fetch,
  stream,
  call,
  drained: async (signal: AbortSignal): Promise<void> => {
    const head = positions.appended('historical');
    while (positions.consumed('historical') < head) await setTimeout(drainLookMs, undefined, { signal });
  },
};

const stop = new AbortController();
// Not awaited here: a message that comes meanwhile must find its listener.
const working = Promise.all([workOnRuns(), removeStaging()]);

async function workOnRuns(): Promise<void> {
  // What was left there belongs to nobody: this thread is the only one that works on runs of this store.
  await rm(dirs.temp, { recursive: true, force: true });
  await expireLeases(db, clock.now());
  const worker = startRunWorker({
    db,
    clock,
    log,
    signal: stop.signal,
    concurrency: settings.importRuns,
    stagesOf: async (run) => createImportStages(parts, run),
    onDone: (stage, more) => metrics.count('millrace_import_records_total', { stage }, more),
  });
  await worker.done;
}

async function removeStaging(): Promise<void> {
  while (!stop.signal.aborted) {
    try {
      await removeOldStaging({ db, staging, keepDays: settings.importKeepDays }, clock.now());
      await removeOfDeletedProjects({ db, staging }, dirs.uploads, clock.now());
    } catch (error) {
      log.error({ err: error }, 'files of imports that ended could not be removed; trying again');
    }
    await setTimeout(removeEveryMs, undefined, { signal: stop.signal }).catch(() => undefined);
  }
}

port.on('message', async (message: { stop?: true }) => {
  if (!message.stop) return;
  stop.abort(new Error('the service stops'));
  await working;
  await Promise.all([fetch.close(), stream.close(), store.close()]);
  await db.destroy();
  metrics.flush();
  // The last open handle: without it the thread ends.
  port.close();
});
