import type { Metadata } from '../../stores/metadata/database.ts';
import { createCacheStore } from '../../plugins/services/cache-store.ts';
import { createStorage } from '../../plugins/services/storage.ts';
import { loadFiles } from '../../plugins/configs/load-files.ts';
import type { TrialDeps } from './trial-run.ts';

/** Size of a trial's cache, which starts empty. */
const cacheBytesMax = 16 * 1024 * 1024;

/** The dependencies of trials that a service provides. */
export type TrialSource = Omit<TrialDeps, 'loadFiles' | 'storageOf' | 'openCache'>;

/** Creates the dependencies of trials in a service: they read the configs' storage and start with an empty cache. */
export function serviceTrialDeps(db: Metadata, source: TrialSource): TrialDeps {
  return {
    ...source,
    loadFiles: (configId) => loadFiles(db, configId),
    storageOf: ({ id, projectId }) => createStorage(db, { configId: id, projectId }),
    openCache: emptyCaches(source.now),
  };
}

/** Creates caches that are shared within a trial as in the service: by plugin and project. `now` in ms. */
export function emptyCaches(now: () => number): TrialDeps['openCache'] {
  return () => {
    const store = createCacheStore({ bytesMax: cacheBytesMax, now });
    return ({ pluginId, projectId }) => store.of(String(pluginId), projectId);
  };
}
