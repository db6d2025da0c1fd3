import type { Metadata } from '../../stores/metadata/database.ts';
import { createCacheStore } from '../../plugins/services/cache-store.ts';
import { createStorage } from '../../plugins/services/storage.ts';
import { loadFiles } from '../../plugins/configs/load-files.ts';
import type { TrialDeps } from './trial-run.ts';

/** Of the cache that a trial starts with, empty. */
const cacheBytesMax = 16 * 1024 * 1024;

/** What a service has for trials. */
export type TrialSource = Omit<TrialDeps, 'loadFiles' | 'storageOf' | 'openCache'>;

/** What trials in a service need: they see what configs have stored, and start with an empty cache. */
export function serviceTrialDeps(db: Metadata, source: TrialSource): TrialDeps {
  return {
    ...source,
    loadFiles: (configId) => loadFiles(db, configId),
    storageOf: ({ id, projectId }) => createStorage(db, { configId: id, projectId }),
    openCache: emptyCaches(source.now),
  };
}

/** Shared within a trial as in the service: by plugin and project. `now` in ms. */
export function emptyCaches(now: () => number): TrialDeps['openCache'] {
  return () => {
    const store = createCacheStore({ bytesMax: cacheBytesMax, now });
    return ({ pluginId, projectId }) => store.of(String(pluginId), projectId);
  };
}
