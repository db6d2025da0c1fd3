import type { Properties } from './read-values.ts';

/** Properties of an event that describe the person's current state; client libraries copy them into `$set`. */
export const currentProperties: readonly string[] = [
  '$browser',
  '$browser_version',
  '$os',
  '$os_version',
  '$device',
  '$device_type',
  '$current_url',
  '$referrer',
  '$referring_domain',
  '$geoip_city_name',
  '$geoip_subdivision_1_name',
  '$geoip_country_code',
  '$geoip_country_name',
];

/** Properties that describe how the person first arrived, for `$set_once`. */
export const initialProperties: readonly string[] = [
  '$initial_referrer',
  '$initial_referring_domain',
  '$initial_utm_source',
  '$initial_utm_medium',
  '$initial_utm_campaign',
  '$initial_utm_content',
  '$initial_utm_term',
];

/** Copies both lists into `$set` and `$set_once`. Existing values stay. */
export function addPersonOfEvent(properties: Properties, set: Properties = {}, setOnce: Properties = {}): void {
  copy(properties, currentProperties, set);
  copy(properties, initialProperties, setOnce);
  if (hasMembers(set)) properties['$set'] ??= set;
  if (hasMembers(setOnce)) properties['$set_once'] ??= setOnce;
}

function copy(from: Properties, keys: readonly string[], to: Properties): void {
  for (const key of keys) {
    const value = from[key];
    if (value !== undefined && value !== null && to[key] === undefined) to[key] = value;
  }
}

function hasMembers(value: object): boolean {
  for (const _ in value) return true;
  return false;
}
