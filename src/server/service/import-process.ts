/**
 * The process of imports and exports. It reads untrusted input, which may occupy a core, all of its memory or end the process, without
 * delaying responses to clients or the pipeline.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import { createFailpoint } from '../../base/failpoint.ts';
import { createAttachTurns } from '../../imports/targets/project-target.ts';
import { createDiskQuota } from '../../imports/stages/export/disk-quota.ts';
import { removeOfDeletedProjects, removeOldStaging } from '../../imports/run/remove-old-staging.ts';
import { removeLostTables } from '../../imports/run/remove-lost-tables.ts';
import { removeOldRuns } from '../../imports/run/remove-old-runs.ts';
import { removeOldUploads } from '../../imports/uploads/remove-old-uploads.ts';
import { expireLeases, type RunKind } from '../../imports/run/claim-run.ts';
import { startRunWorker } from '../../imports/run/run-worker.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import { fetchLoadedLate, streamLoadedLate } from '../../plugins/outbound/load-late.ts';
import { importDirs, freeStagingBytes, openImportStaging } from './import-dirs.ts';
import { workOnExports } from './export-worker.ts';
import { createImportConfigWatcher } from './import-config-watcher.ts';
import { openPluginEnvironmentLate, outboundTrust } from './plugin-environment.ts';
import { isCluster } from '../config/event-log-kind.ts';
import { connectionsPerThread, openEventStore, openMetadata } from './stores.ts';
import { openProcess } from './thread.ts';
import { waitUntilStored } from './stored-so-far.ts';
import { openProcessDir } from './process-dir.ts';

/** Maximum response of sources and targets, larger than that for plugins. */
const answerMsMax = 120_000;
const answerBytesMax = 64 * 1024 * 1024;
const connectMsMax = 30_000;
const removeEveryMs = 600_000;
/** These runs only wait, and each keeps its stages open. */
const replacingMax = 16;

const { settings, shared, log, metrics, call, serve } = await openProcess();
const clock = systemClock;
const dirs = importDirs(settings);
const { db } = await openMetadata(settings, log, connectionsPerThread(settings));
const store = await openEventStore(settings, shared.embedded, { log });
const staging = await openImportStaging(settings);
const trust = outboundTrust(settings);
const fetch = fetchLoadedLate({ ...trust, timeoutMs: answerMsMax, bytesMax: answerBytesMax });
const stream = streamLoadedLate({ ...trust, connectTimeoutMs: connectMsMax, idleMs: answerMsMax });

// Runs the code of transforms.
const environment = openPluginEnvironmentLate(settings, { log, clock });
// With a file-based event log, this process is the only one that works on runs of this store.
const isAlone = !isCluster(settings);
const temp = await openProcessDir({ db, log, parent: dirs.temp, isAlone });

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
  dirs: { ...dirs, temp: temp.path },
  clock,
  log,
  failpoint: createFailpoint(settings.failAt, settings.allowFailpoints, killService),
  allow: trust.allow,
  fetch,
  stream,
  place: environment.open,
  call,
  waitUntilStored: (projectId: number, signal: AbortSignal) =>
    waitUntilStored({ db, call }, { projectId, lane: 'historical' }, signal),
  turns: createAttachTurns(),
};

const watcher = createImportConfigWatcher({ db, clock, log, days: settings.pluginLogDays });
const stopping = new AbortController();
const exporting = workOnExports({ ...deps, isAlone, signal: stopping.signal });
const working = Promise.all([workOnRuns(), removeStaging(), exporting]);

/** Failpoints kill the service as well as this process. */
function killService(): void {
  for (const pid of [process.ppid, process.pid]) process.kill(pid, 'SIGKILL');
}

async function workOnRuns(): Promise<void> {
  // After a crash, the leases of the dead process need not expire first.
  if (isAlone) await expireLeases(db);
  // Code for runs is loaded with the first one, since most services start without any.
  const worker = (kind: RunKind, concurrency: number): Promise<void> =>
    startRunWorker({
      db,
      clock,
      log,
      signal: stopping.signal,
      kind,
      concurrency,
      stagesOf: async (run) => (await import('./import-run.ts')).createImportStages(deps, run),
      watcher,
      onClaim: (held) => {
        void call('holdRun', held);
        return () => void call('releaseRun', held);
      },
      onDone: (stage, more) => metrics.count('millrace_import_records_total', { stage }, more),
    }).done;
  await Promise.all([worker('import', settings.importRuns), worker('replace', replacingMax), worker('undo', 1)]);
}

async function removeStaging(): Promise<void> {
  const databaseClock = createDatabaseClock(db);
  while (!stopping.signal.aborted) {
    try {
      const now = await databaseClock.now();
      const kept = { db, staging, keepDays: settings.importKeepDays, runDays: settings.importRunDays };
      await removeOldStaging(kept, now);
      await removeOldRuns(kept, now);
      await removeOfDeletedProjects({ db, staging }, dirs.uploads, now);
      const uploads = { db, staging, uploadsDir: dirs.uploads, days: settings.importUploadDays };
      const removed = await removeOldUploads(uploads, now);
      if (removed.length > 0) log.info({ removed: removed.length }, 'removed old uploads');
      await temp.removeDead();
      await removeLostTables({ db, tables: store.runTables });
    } catch (error) {
      log.error({ err: error }, 'failed to remove files of ended imports; retrying');
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
    await temp.close();
    await Promise.all([fetch.close(), stream.close(), store.close(), environment.close()]);
    await db.destroy();
  },
});
