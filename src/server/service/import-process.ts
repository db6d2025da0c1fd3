/**
 * The process of imports. What others have written is read here: it may take all of a core, all of the memory that it is allowed, or end the
 * process, and holds up neither an answer to a client nor the pipeline.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import { createFailpoint } from '../../base/failpoint.ts';
import { createAttachTurns } from '../../imports/targets/attach-turns.ts';
import { createDiskQuota } from '../../imports/stages/export/disk-quota.ts';
import { removeOfDeletedProjects, removeOldStaging } from '../../imports/run/remove-old-staging.ts';
import { removeLostTables } from '../../imports/run/remove-lost-tables.ts';
import { removeOldRuns } from '../../imports/run/remove-old-runs.ts';
import { expireLeases, type RunKind } from '../../imports/run/claim-run.ts';
import { startRunWorker } from '../../imports/run/run-worker.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import { fetchLoadedLate, streamLoadedLate } from '../../plugins/outbound/load-late.ts';
import { importDirs, freeStagingBytes, openImportStaging } from './import-dirs.ts';
import { createImportConfigWatcher } from './import-config-watcher.ts';
import { openPluginEnvironmentLate, outboundTrust } from './plugin-environment.ts';
import { isCluster } from './roles.ts';
import { connectionsPerThread, openEventStore, openMetadata } from './stores.ts';
import { openProcess } from './thread.ts';
import { waitUntilStored } from './stored-so-far.ts';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../base/ids.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { keepLease } from '../../stores/metadata/lease.ts';
import { dropLease, heldLeases, takeLease } from '../../stores/metadata/named-leases.ts';
import type { Log } from '../telemetry/log.ts';

/** A directory for what lies on disk while this process works on it, and that of processes that died. */
export interface ProcessDir {
  readonly path: string;
  /** Removes those whose processes died: their leases have run out. */
  removeDead(): Promise<void>;
  close(): Promise<void>;
}

interface ProcessDirDeps {
  readonly db: Metadata;
  readonly log: Log;
  /** Processes on one machine may have it in common. */
  readonly parent: string;
  /** Nobody else can have a directory in there: what is left in it goes at once. */
  readonly isAlone: boolean;
  /** Default 10 min: a process that cannot reach the store for some minutes keeps its files. */
  readonly leaseMs?: number;
}

const leaseMsDefault = 600_000;

export async function openProcessDir(deps: ProcessDirDeps): Promise<ProcessDir> {
  const { db, log, parent, isAlone, leaseMs = leaseMsDefault } = deps;
  if (isAlone) await rm(parent, { recursive: true, force: true });
  const owner = newId();
  const clock = createDatabaseClock(db);
  const trouble = (err?: unknown): void => log.warn({ err }, 'the lease of a directory could not be renewed');
  const nameOf = (dir: string): string => `directory ${dir}`;
  // Before the directory is there: one without a lease is removed by whoever sees it.
  const lease = { name: nameOf(owner), owner };
  // Nobody else ever takes it: after a time without the store it is taken anew.
  const take = async (): Promise<boolean> => takeLease(db, lease, await clock.now(), leaseMs);
  await take();
  const stop = keepLease({ leaseMs, renew: take, onLost: trouble, onTrouble: trouble });
  const path = join(parent, owner);
  await mkdir(path, { recursive: true, mode: 0o700 });
  const removeDead = async (): Promise<void> => {
    const dirs = await readdir(parent);
    const held = await heldLeases(db, dirs.map(nameOf), await clock.now());
    for (const dir of dirs) if (!held.has(nameOf(dir))) await rm(join(parent, dir), { recursive: true, force: true });
  };
  await removeDead();
  return {
    path,
    removeDead,
    close: async () => {
      await rm(path, { recursive: true, force: true });
      await stop();
      await dropLease(db, lease);
    },
  };
}

/** Of requests of sources and to targets; larger than those of plugins. */
const answerMsMax = 120_000;
const answerBytesMax = 64 * 1024 * 1024;
const connectMsMax = 30_000;
const removeEveryMs = 600_000;
/** They only wait; each holds the stages of one run open. */
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

// Where code of transforms runs.
const environment = openPluginEnvironmentLate(settings, { log, clock });
// With the event log in files of its own this process is the only one that works on runs of this store.
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
  waitUntilStored: (projectId: number, signal: AbortSignal) => waitUntilStored({ db, call }, projectId, signal),
  turns: createAttachTurns(),
};

const watcher = createImportConfigWatcher({ db, clock, log, days: settings.pluginLogDays });
const stopping = new AbortController();
const working = Promise.all([workOnRuns(), removeStaging()]);

/** A kill of the service is one of this process, too. */
function killService(): void {
  for (const pid of [process.ppid, process.pid]) process.kill(pid, 'SIGKILL');
}

async function workOnRuns(): Promise<void> {
  // A start after a crash need not wait for the leases of the process that died.
  if (isAlone) await expireLeases(db);
  // What runs need is loaded with the first one: most services start without any.
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
        return () => void call('letRunGo', held);
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
      await temp.removeDead();
      await removeLostTables({ db, tables: store.runTables });
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
    await temp.close();
    await Promise.all([fetch.close(), stream.close(), store.close(), environment.close()]);
    await db.destroy();
  },
});
