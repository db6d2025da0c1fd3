import { createCacheStore } from '../../plugins/services/cache-store.ts';
import type { PluginCache, PluginStorage } from '../../plugins/host.ts';
import type { InstanceServices } from '../../plugins/sandbox/sandbox.ts';

const cacheBytesMax = 16 * 1024 * 1024;

/** What a transform can use of the service, created for every segment of records. */
interface ImportServices {
  readonly services: InstanceServices;
  /** What it requested but did not get, by the names that plugins use. */
  readonly refused: ReadonlySet<string>;
}

/**
 * Provides an empty cache, and nothing persistent or external: stored values would make the events of a segment depend on those before it,
 * and differ when a segment is repeated; nothing would count, verify or undo what is sent.
 */
export function importServices(now: () => number): ImportServices {
  const refused = new Set<string>();
  const refuse = (name: string, advice: string): never => {
    refused.add(name);
    throw new Error(`${name}: an import has none; ${advice}`);
  };
  const storageOf = (name: string) => async (): Promise<never> =>
    refuse(`storage.${name}`, 'its outcome for an event must depend on the event alone');
  const storage: PluginStorage = {
    get: storageOf('get'),
    getMany: storageOf('getMany'),
    set: storageOf('set'),
    delete: storageOf('delete'),
    increment: storageOf('increment'),
  };
  const services: InstanceServices = {
    storage,
    cache: emptyCache(now),
    capture: async () => refuse('posthog.capture', 'nothing would count events in addition to those of the run'),
    enqueueJob: async () => refuse('jobs', 'nothing must happen after the import'),
    api: async () => refuse('posthog.api', 'read what is needed from a file of the settings'),
    log: () => {},
    metric: () => {},
  };
  return { services, refused };
}

export function emptyCache(now: () => number): PluginCache {
  return createCacheStore({ bytesMax: cacheBytesMax, now }).of('transform', 0);
}
