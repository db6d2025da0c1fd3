import { createCacheStore } from '../../plugins/services/cache-store.ts';
import type { PluginCache, PluginStorage } from '../../plugins/host.ts';
import type { InstanceServices } from '../../plugins/sandbox/sandbox.ts';

const cacheBytesMax = 16 * 1024 * 1024;

/** What the code of a transform gets of a service, made anew for every piece of records. */
export interface ImportServices {
  readonly services: InstanceServices;
  /** What it asked for and did not get, by the names under which plugins know it. */
  readonly refused: ReadonlySet<string>;
}

/**
 * A cache that is empty at first, and nothing that lasts or leaves: what is stored would make the events of a piece depend on
 * those before it, and differ when a piece is done again; what is sent would be counted, verified and taken back by nobody.
 */
export function importServices(now: () => number): ImportServices {
  const refused = new Set<string>();
  const refuse = (name: string, advice: string): never => {
    refused.add(name);
    throw new Error(`${name}: an import has none; ${advice}`);
  };
  const storageOf = (name: string) => async (): Promise<never> =>
    refuse(`storage.${name}`, 'what becomes of an event has to follow from the event alone');
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
    capture: async () => refuse('posthog.capture', 'events beside those of the run would be counted by nobody'),
    enqueueJob: async () => refuse('jobs', 'nothing is to happen after the import'),
    api: async () => refuse('posthog.api', 'read what is needed from a file of the settings'),
    log: () => {},
    metric: () => {},
  };
  return { services, refused };
}

export function emptyCache(now: () => number): PluginCache {
  return createCacheStore({ bytesMax: cacheBytesMax, now }).of('transform', 0);
}
