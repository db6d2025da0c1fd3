/**
 * The thread of imports. Reading, converting and comparing years of history takes all of a core; here it holds up neither an
 * answer to a client nor the pipeline.
 */
import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import { createFailpoint } from '../base/failpoint.ts';
import { createDiskQuota } from '../imports/stages/export/disk-quota.ts';
import { removeOfDeletedProjects, removeOldStaging } from '../imports/run/remove-old-staging.ts';
import { expireLeases } from '../imports/run/claim-run.ts';
import type { RunKind } from '../imports/run/claim-run.ts';
import { startRunWorker } from '../imports/run/run-worker.ts';
import { createOutboundFetch } from '../outbound/safe-fetch.ts';
import { createOutboundStream } from '../outbound/stream.ts';
import { importDirs, freeStagingBytes, openImportStaging } from './import-dirs.ts';
import { movableMemory } from './import-door.ts';
import { createImportConfigWatcher } from './import-config-watcher.ts';
import { createImportStages } from './import-run.ts';
import { openPluginEnvironment, outboundTrust, type PluginEnvironment } from './plugin-environment.ts';
import { eventLogPositions, openEventStore, openMetadata } from './stores.ts';
import { openThread } from './thread.ts';

/** Of requests of sources and to targets; larger than those of plugins. */
const answerMsMax = 120_000;
const answerBytesMax = 64 * 1024 * 1024;
const connectMsMax = 30_000;
const drainLookMs = 100;
const removeEveryMs = 600_000;
/** They only wait; each holds the stages of one run open. */
const replacingMax = 16;

const { settings, shared, log, metrics, call, serve } = openThread(movableMemory);
const clock = systemClock;
const dirs = importDirs(settings);
const { db } = await openMetadata(settings, log);
const store = await openEventStore(settings, shared.embedded);
const staging = await openImportStaging(settings);
const positions = await eventLogPositions(shared.eventLog);
const trust = outboundTrust(settings);
const fetch = createOutboundFetch({ ...trust, timeoutMs: answerMsMax, bytesMax: answerBytesMax });
const stream = createOutboundStream({ ...trust, connectTimeoutMs: connectMsMax, idleMs: answerMsMax });

const environment = createPlace();

const deps = {
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
  allow: trust.allow,
  fetch,
  stream,
  place: environment.open,
  call,
  drained: async (signal: AbortSignal): Promise<void> => {
    const head = positions.appended('historical');
    while (positions.consumed('historical') < head) await delay(drainLookMs, undefined, { signal });
  },
};

const watcher = createImportConfigWatcher({ db, clock, log, days: settings.pluginLogDays });
const stopping = new AbortController();
const working = Promise.all([workOnRuns(), removeStaging()]);

/** Where code of transforms runs: nothing is opened before some run has any. */
function createPlace(): { readonly open: () => PluginEnvironment; readonly close: () => Promise<void> } {
  let opened: PluginEnvironment | undefined;
  return {
    open: () => (opened ??= openPluginEnvironment(settings, { log, clock })),
    close: async () => opened?.close(),
  };
}

async function workOnRuns(): Promise<void> {
  // What was left there belongs to nobody: this thread is the only one that works on runs of this store.
  await rm(dirs.temp, { recursive: true, force: true });
  await expireLeases(db, clock.now());
  const worker = (kind: RunKind, concurrency: number): Promise<void> =>
    startRunWorker({
      db,
      clock,
      log,
      signal: stopping.signal,
      kind,
      concurrency,
      stagesOf: async (run) => createImportStages(deps, run),
      watcher,
      onDone: (stage, more) => metrics.count('millrace_import_records_total', { stage }, more),
    }).done;
  await Promise.all([worker('import', settings.importRuns), worker('replace', replacingMax), worker('undo', 1)]);
}

async function removeStaging(): Promise<void> {
  while (!stopping.signal.aborted) {
    try {
      await removeOldStaging({ db, staging, keepDays: settings.importKeepDays }, clock.now());
      await removeOfDeletedProjects({ db, staging }, dirs.uploads, clock.now());
    } catch (error) {
      log.error({ err: error }, 'files of imports that ended could not be removed; trying again');
    }
    await delay(removeEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
  }
}

serve({
  health: async () => ({ ok: true }),
  stop: async () => {
    stopping.abort(new Error('the service stops'));
    await working;
    await watcher.close();
    await Promise.all([fetch.close(), stream.close(), store.close(), environment.close()]);
    await db.destroy();
  },
});
