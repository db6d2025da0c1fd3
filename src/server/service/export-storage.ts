/** Where the service keeps the files of exports until they are downloaded, and for how long. */
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { dayMs } from '../../base/time.ts';
import { isoMicros } from '../../base/clock.ts';
import { exportsPrefix, type Staging } from '../../imports/staging.ts';
import { createDiskQuota } from '../../imports/stages/export/disk-quota.ts';
import { ExportPlaceError } from '../../stores/export/export-place.ts';
import { exportKindName } from '../../stores/export/run-export.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Settings } from '../config/settings.ts';
import { openServiceStaging } from './import-dirs.ts';

function placeOf({ importStaging, dataDir }: Pick<Settings, 'importStaging' | 'dataDir'>): string {
  if (!importStaging.includes('://')) return join(dataDir, exportsPrefix);
  return `${importStaging.replace(/\/+$/, '')}/${exportsPrefix}`;
}

/** A directory of the data directory, or in a cluster the bucket of imports. */
export function openExportStorage(settings: Settings): Promise<Staging> {
  return openServiceStaging(placeOf(settings), settings);
}

/** Returns a check that throws ExportPlaceError if the storage is full. */
export function exportRoom(storage: Staging, settings: Settings): () => Promise<void> {
  const place = placeOf(settings);
  const quota = createDiskQuota({
    staging: storage,
    budgetBytes: settings.exportDiskBudget,
    freeBytes: async () => {
      if (place.includes('://')) return undefined;
      const { bavail, bsize } = await statfs(place);
      return bavail * bsize;
    },
    advice: 'delete exports that are no longer needed, or raise MILLRACE_EXPORT_DISK_BUDGET',
  });
  return async () => {
    const { shortage } = await quota.room();
    if (shortage !== undefined) throw new ExportPlaceError(`${shortage}; start the export again`);
  };
}

export interface OldExportsDeps {
  readonly db: Metadata;
  readonly storage: Staging;
  /** Days after the end of an export. */
  readonly keepDays: number;
}

/** Removes files of exports that ended long enough ago, and of exports that no longer exist. The record of an export stays. */
export async function removeOldExports({ db, storage, keepDays }: OldExportsDeps, now: number): Promise<void> {
  const ids = new Set((await storage.list('')).map(({ key }) => key.split('/')[0] ?? ''));
  for (const id of ids) {
    const task = await db
      .selectFrom('tasks')
      .select(['state', 'ended_at'])
      .where('id', '=', id)
      .where('kind', '=', exportKindName)
      .executeTakeFirst();
    const isOld = task === undefined || (task.ended_at !== null && task.ended_at < isoMicros(now - keepDays * dayMs));
    if (isOld) await storage.remove(`${id}/`);
  }
}
