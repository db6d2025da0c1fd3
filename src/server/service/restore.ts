/** `millrace restore`: creates a data directory from a backup, checked before and after. */
import { isDeepStrictEqual } from 'node:util';
import { BackupDamagedError, type BackupCounts } from '../../stores/backup/manifest.ts';
import { checkBackup, checkEmpty, endRestore, writeRestored } from '../../stores/backup/restore.ts';
import { BackupRefusedError } from '../../stores/backup/write-backup.ts';
import { createFailpoint } from '../../base/failpoint.ts';
import type { Settings } from '../config/settings.ts';
import type { BackupJob, BackupPlace, BackupReport } from './backup.ts';
import { countDataDir } from './count-data-dir.ts';
import { openStaging } from './stores.ts';

export type RestoreReport = Omit<BackupReport, 'held_ms'>;

/** @throws BackupRefusedError and BackupDamagedError before anything is written, errors of the source and of the stores */
export async function restoreDataDir(settings: Settings, from: BackupPlace, job: BackupJob): Promise<RestoreReport> {
  const { dataDir } = settings;
  if (settings.databaseUrl !== '' || settings.clickhouseUrl !== '' || settings.kafkaBrokers !== '') {
    throw new BackupRefusedError(
      'expected a data directory alone, got DATABASE_URL, CLICKHOUSE_URL or KAFKA_BROKERS beside it, which have separate ' +
        'backups (docs/guides/operations.md); unset them to restore into a directory',
    );
  }
  await checkEmpty(dataDir);
  const source = await openStaging(from.place, from.bucket);
  const failpoint = createFailpoint(settings.failAt, settings.allowFailpoints);
  const deps = { ...job, source, dataDir, failpoint };
  const manifest = await checkBackup(deps);
  await writeRestored(deps, manifest);
  job.progress.step('opening the stores and counting');
  compareCounts(manifest.counts, await countDataDir(settings, job.log));
  failpoint('restore_counted');
  await endRestore(dataDir);
  const { id, taken_at, files, counts } = manifest;
  return { id, taken_at, files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0), counts };
}

function compareCounts(expected: BackupCounts, got: BackupCounts): void {
  const differing = (['events', 'waiting', 'tables'] as const).find(
    (name) => !isDeepStrictEqual(expected[name], got[name]),
  );
  if (differing === undefined) return;
  throw new BackupDamagedError(
    `expected the same counts of ${differing} as when the backup was taken, ${JSON.stringify(expected[differing])}, got ` +
      `${JSON.stringify(got[differing])}; no service starts on this directory`,
  );
}
