import type { CityRecord } from '../../../host.ts';
import type { Bridge } from './bridge.ts';

/**
 * `meta.geoip`. Works with and without await: published plugins of different periods use either. The City model has the
 * names of MaxMind's libraries, the database those of its file.
 */
export function createGeoIp(bridge: Bridge): { locate: (ip: unknown) => unknown } {
  return {
    locate: (ip) => {
      const found = bridge.callSync('geoip', [String(ip)]);
      return found === null || found === undefined ? null : cityModel(found as CityRecord);
    },
  };
}

function cityModel(record: CityRecord): unknown {
  const model = camelCased(record);
  // The model always contains lists.
  return { subdivisions: [], ...(typeof model === 'object' && model) };
}

/** Keys of `names` are languages and stay unchanged. */
function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase()),
      key === 'names' ? item : camelCased(item),
    ]),
  );
}
