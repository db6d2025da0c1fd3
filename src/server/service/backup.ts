/** `millrace backup`: a consistent copy of a data directory, with or without a running service. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import type { BackupProgress } from '../../stores/backup/backup-progress.ts';
import { backedUp, type BackupCounts, type Manifest } from '../../stores/backup/manifest.ts';
import { restoreProblem } from '../../stores/backup/restore-state.ts';
import { takeSnapshot } from '../../stores/backup/take-snapshot.ts';
import { beginBackup, BackupRefusedError, writeBackup } from '../../stores/backup/write-backup.ts';
import { createFailpoint } from '../../base/failpoint.ts';
import { newId } from '../../base/ids.ts';
import { linkTree } from '../../base/link-tree.ts';
import { openSqliteSnapshot } from '../../base/sqlite-snapshot.ts';
import type { Settings } from '../config/settings.ts';
import type { Log } from '../telemetry/log.ts';
import { takeBackupScratch } from './backup-scratch.ts';
import { countDataDir } from './count-data-dir.ts';
import { metadataFile, openMetadata, openStaging, storeFiles, type StagingBucketSettings } from './stores.ts';

export interface BackupPlace {
  /** Directory or `s3://bucket/prefix`. */
  readonly place: string;
  readonly bucket: StagingBucketSettings;
}

export interface BackupJob {
  readonly log: Log;
  readonly progress: BackupProgress;
  readonly signal: AbortSignal;
}

export interface BackupReport {
  readonly id: string;
  readonly taken_at: string;
  readonly files: number;
  readonly bytes: number;
  /** How long metadata writes of the service were blocked. */
  readonly held_ms: number;
  readonly counts: BackupCounts;
}

const linkedDirs = backedUp.filter((name) => name === 'imports' || name === 'import-uploads');

/** @throws BackupRefusedError, BackupDamagedError, errors of the target and of the stores */
export async function backupDataDir(settings: Settings, to: BackupPlace, job: BackupJob): Promise<BackupReport> {
  const { dataDir } = settings;
  checkSettings(settings, to);
  using scratch = await takeBackupScratch(dataDir);
  if (scratch === undefined) {
    throw new BackupRefusedError(`expected ${dataDir} without a running backup, got one; wait until it has ended`);
  }
  const target = await openStaging(to.place, to.bucket);
  const id = newId();
  await beginBackup(target, id);
  const { copy, look } = scratch;
  // Remains of a killed backup.
  await scratch.clear();
  try {
    const { takenAt, heldMs } = await copyStores(settings, copy, job);
    const counts = await countCopy({ ...settings, dataDir: copy }, look, job);
    const about = { id, taken_at: takenAt, counts };
    const failpoint = createFailpoint(settings.failAt, settings.allowFailpoints);
    return reportOf(await writeBackup({ ...job, target, from: copy, about, failpoint }), heldMs);
  } finally {
    await scratch.clear();
  }
}

function checkSettings(settings: Settings, { place }: BackupPlace): void {
  const { dataDir, databaseUrl, clickhouseUrl, kafkaBrokers, importStaging } = settings;
  if (databaseUrl !== '' || clickhouseUrl !== '' || kafkaBrokers !== '') {
    throw new BackupRefusedError(
      'expected a data directory with everything in it, got DATABASE_URL, CLICKHOUSE_URL or KAFKA_BROKERS beside it; ' +
        'they have separate backups, whose order is in docs/guides/operations.md',
    );
  }
  const problem = restoreProblem(dataDir);
  if (problem !== undefined) throw new BackupRefusedError(problem);
  if (!existsSync(metadataFile(dataDir))) {
    throw new BackupRefusedError(
      `expected a data directory that Millrace has used, got ${dataDir}; name it with --data-dir`,
    );
  }
  const inside = relative(resolve(dataDir), resolve(place));
  if (!place.includes('://') && (inside === '' || !/^\.\.(\/|$)/.test(inside))) {
    throw new BackupRefusedError(`expected a place outside of ${dataDir}, got ${place}; name one on another disk`);
  }
  if (importStaging !== '' && importStaging.includes('://')) return;
  if (importStaging !== '' && resolve(importStaging) !== resolve(dataDir, 'imports')) {
    // Files of current runs.
    throw new BackupRefusedError(
      `expected imports to keep their files in ${join(dataDir, 'imports')} or a bucket, got MILLRACE_IMPORT_STAGING ` +
        `${importStaging}; stop the service and copy both directories`,
    );
  }
}

async function copyStores(
  settings: Settings,
  copy: string,
  { log, progress }: BackupJob,
): Promise<{ readonly takenAt: string; readonly heldMs: number }> {
  const { dataDir } = settings;
  await mkdir(copy, { recursive: true, mode: 0o700 });
  progress.step('copying the stores');
  const files = await storeFiles();
  const { db } = await openMetadata({ dataDir, databaseUrl: '' }, log);
  let takenAt = '';
  try {
    const heldMs = await takeSnapshot({
      dataDir,
      to: copy,
      holdMetadata: (work) =>
        db.transaction().execute(async () => {
          takenAt = new Date().toISOString();
          return work();
        }),
      openMetadata: () => openSqliteSnapshot(metadataFile(dataDir)),
      openLog: () => files.openLog(dataDir),
      events: files.events(dataDir, copy),
      linkedDirs: linkedDirs.filter((name) => existsSync(join(dataDir, name))),
    });
    return { takenAt, heldMs };
  } finally {
    await db.destroy();
  }
}

/** Opens the copy once to prove that it can be; the engine's writes go into other files. */
async function countCopy(settings: Settings, look: string, { log, progress }: BackupJob): Promise<BackupCounts> {
  progress.step('opening the copy and counting');
  linkTree(join(settings.dataDir, 'events'), join(look, 'events'));
  return await countDataDir(settings, log, look);
}

function reportOf({ id, taken_at, files, counts }: Manifest, heldMs: number): BackupReport {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { id, taken_at, files: files.length, bytes, held_ms: Math.round(heldMs), counts };
}
