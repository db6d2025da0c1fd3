import type { JsonObject, JsonValue } from '../../src/base/json.ts';
import type { TransformEvent } from '../../src/plugins/plugin.ts';
import type { GeoIp, PluginCache, PluginStorage, TransformationHost } from '../../src/plugins/host.ts';
import type { OutboundFetch } from '../../src/plugins/outbound/outbound.ts';

/** A host in memory; parts can be given. Requests fail unless `fetch` is given. */
export function testHost(parts: Partial<TransformationHost> = {}): TransformationHost {
  return {
    projectId: 1,
    configId: 1,
    attachments: new Map(),
    storage: memoryStorage(),
    cache: memoryCache(),
    fetch: refuseFetch,
    geoip: testGeoip,
    geoipProblem: 'no database',
    now: () => Date.UTC(2026, 10, 20),
    ...parts,
  };
}

export type Before = Partial<Omit<TransformEvent, 'team_id'>>;

/** An event as a worker hands it over: a fresh copy. */
export function testEvent(before: Before): TransformEvent {
  return {
    uuid: '01900000-0000-7000-8000-000000000000',
    event: 'tested',
    distinct_id: 'u1',
    team_id: 1,
    timestamp: '2026-01-01T00:00:00.000Z',
    ...(JSON.parse(JSON.stringify(before)) as Before),
    properties: JSON.parse(JSON.stringify(before.properties ?? {})) as JsonObject,
  };
}

/** A database that knows one address. */
export const testGeoip: GeoIp = {
  locate: (ip) =>
    ip === '198.51.100.7'
      ? {
          city: { names: { en: 'Bern' } },
          country: { names: { en: 'Switzerland' }, iso_code: 'CH' },
          continent: { names: { en: 'Europe' }, code: 'EU' },
          postal: { code: '3001' },
          location: { latitude: 46.948, longitude: 7.4481, accuracy_radius: 20, time_zone: 'Europe/Zurich' },
          subdivisions: [{ iso_code: 'BE', names: { en: 'Bern' } }],
        }
      : null,
};

const refuseFetch: OutboundFetch = async ({ url }) => {
  throw new Error(`unexpected request to ${url}`);
};

export function memoryStorage(values = new Map<string, JsonValue>()): PluginStorage {
  return {
    get: async (key) => values.get(key),
    getMany: async (keys) =>
      new Map(
        keys.flatMap((key) => {
          const value = values.get(key);
          return value === undefined ? [] : [[key, value] as const];
        }),
      ),
    set: async (key, value) => void values.set(key, value),
    delete: async (key) => void values.delete(key),
    increment: async (key, by) => {
      const sum = Number(values.get(key) ?? 0) + by;
      values.set(key, sum);
      return sum;
    },
  };
}

/** Without expiry; transformations use it for single values only. */
function memoryCache(): PluginCache {
  const values = new Map<string, string>();
  const noLists = async (): Promise<never> => {
    throw new Error('the cache of this test has no lists');
  };
  return {
    get: async (key) => values.get(key),
    set: async (key, value) => void values.set(key, value),
    delete: async (key) => void values.delete(key),
    increment: async (key) => {
      const sum = Number(values.get(key) ?? 0) + 1;
      values.set(key, String(sum));
      return sum;
    },
    expire: async (key) => values.has(key),
    listPush: noLists,
    listRange: noLists,
    listLength: noLists,
    listRemove: noLists,
    listPop: noLists,
  };
}
