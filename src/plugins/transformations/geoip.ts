import { yesNo } from '../fields.ts';
import type { CityRecord, GeoIp } from '../host.ts';
import { personPropertiesIfAny } from './properties/person-properties.ts';
import { defineTransformation, SettingsError } from '../plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { deletePath, propertyPath, readPath } from '../property-path.ts';
import { listSetting, textSetting, yesSetting } from '../setting-values.ts';

/** Parts stored on the person; those missing from the latest location are set to null, so that none remains of an older one. */
const personParts = [
  'city_name',
  'city_confidence',
  'subdivision_2_name',
  'subdivision_2_code',
  'subdivision_1_name',
  'subdivision_1_code',
  'country_name',
  'country_code',
  'continent_name',
  'continent_code',
  'postal_code',
  'latitude',
  'longitude',
  'accuracy_radius',
  'time_zone',
];
const noPlace = Object.freeze(Object.fromEntries(personParts.map((part) => [`$geoip_${part}`, null])));
const noFirstPlace = Object.freeze(Object.fromEntries(personParts.map((part) => [`$initial_geoip_${part}`, null])));

export const geoip = defineTransformation({
  slug: 'geoip',
  // Other plugins check for this name in $plugins_succeeded.
  name: 'GeoIP',
  description: 'Adds country, city, coordinates and time zone of the IP address to the event and to the person.',
  alsoKnownAs: ['GeoIP', 'posthog-plugin-geoip', '@posthog/geoip-plugin', 'template-geoip'],
  differences: [
    '127.0.0.1 has no location unless a setting gives an address for it; the published one uses a fixed address.',
    'A part without a value in the database becomes null on the person; the published one keeps the older value.',
  ],
  fields: [
    {
      key: 'ip_property',
      name: 'Property that holds the IP address',
      type: 'string',
      default: '$ip',
      hint: 'Nested properties with dots.',
    },
    {
      key: 'person',
      name: 'Keep on the person too',
      ...yesNo('Yes'),
      hint: 'The latest location under the same names, the first one with the prefix $initial_geoip_.',
    },
    {
      key: 'discard_ip',
      name: 'Remove the IP address afterwards',
      ...yesNo('No'),
      hint: 'Removed from every event, whether or not a location was found. Put other transformations that need it before this one.',
    },
    {
      key: 'skip_libs',
      name: 'Not for these libraries',
      type: 'string',
      hint: 'Comma-separated values of $lib, e.g. posthog-node, posthog-python: the address of a server does not locate a person.',
    },
    {
      key: 'local_address',
      name: 'Address to look up instead of 127.0.0.1',
      type: 'string',
      hint: 'For development only. Empty: 127.0.0.1 has no location.',
    },
  ],
  example: {
    settings: { person: 'No' },
    before: { event: '$pageview', properties: { $ip: '198.51.100.7' } },
    after: {
      properties: {
        $ip: '198.51.100.7',
        $geoip_city_name: 'Bern',
        $geoip_country_name: 'Switzerland',
        $geoip_country_code: 'CH',
        $geoip_continent_name: 'Europe',
        $geoip_continent_code: 'EU',
        $geoip_postal_code: '3001',
        $geoip_latitude: 46.948,
        $geoip_longitude: 7.4481,
        $geoip_accuracy_radius: 20,
        $geoip_time_zone: 'Europe/Zurich',
        $geoip_subdivision_1_code: 'BE',
        $geoip_subdivision_1_name: 'Bern',
      },
    },
  },
  create(settings, host) {
    if (host.geoip === undefined) throw new SettingsError(host.geoipProblem);
    const database: GeoIp = host.geoip;
    const source = propertyPath(textSetting(settings, 'ip_property', '$ip'));
    const localAddress = textSetting(settings, 'local_address');
    const skipped = new Set(listSetting(settings, 'skip_libs'));
    const person = yesSetting(settings, 'person', 'Yes');
    const discards = yesSetting(settings, 'discard_ip');
    return (event) => {
      const { properties } = event;
      const ip = readPath(properties, source);
      if (typeof ip !== 'string' || ip === '') return event;
      if (discards) deletePath(properties, source);
      if (isDisabled(properties, skipped)) return event;
      const record = database.locate(ip === '127.0.0.1' && localAddress !== '' ? localAddress : ip);
      if (record !== null) write(properties, record, person);
      return event;
    };
  },
});

function isDisabled(properties: JsonObject, skipped: ReadonlySet<string>): boolean {
  if (Object.hasOwn(properties, '$geoip_disable') && Boolean(properties['$geoip_disable'])) return true;
  const lib = skipped.size > 0 && Object.hasOwn(properties, '$lib') ? properties['$lib'] : undefined;
  return typeof lib === 'string' && skipped.has(lib);
}

function write(properties: JsonObject, record: CityRecord, person: boolean): void {
  const target: Target = { event: properties, set: undefined, setOnce: undefined };
  if (person) {
    target.set = { ...noPlace, ...personPropertiesIfAny(properties, '$set') };
    target.setOnce = { ...noFirstPlace, ...personPropertiesIfAny(properties, '$set_once') };
    properties['$set'] = target.set;
    properties['$set_once'] = target.setOnce;
  }
  writePlace(target, record);
}

/** The targets of a location: the event, and the person unless disabled. */
interface Target {
  readonly event: JsonObject;
  set: JsonObject | undefined;
  setOnce: JsonObject | undefined;
}

function writePlace(target: Target, { city, country, continent, postal, location, subdivisions }: CityRecord): void {
  put(target, keys.city_name, city?.names?.en);
  put(target, keys.city_confidence, city?.confidence);
  put(target, keys.country_name, country?.names?.en);
  put(target, keys.country_code, country?.iso_code);
  put(target, keys.country_confidence, country?.confidence);
  put(target, keys.continent_name, continent?.names?.en);
  put(target, keys.continent_code, continent?.code);
  put(target, keys.postal_code, postal?.code);
  put(target, keys.postal_code_confidence, postal?.confidence);
  put(target, keys.latitude, location?.latitude);
  put(target, keys.longitude, location?.longitude);
  put(target, keys.accuracy_radius, location?.accuracy_radius);
  put(target, keys.time_zone, location?.time_zone);
  subdivisions?.forEach(({ iso_code, names, confidence }, index) => {
    const subdivision = subdivisionKeys[index] ?? keysOfSubdivision(index);
    put(target, subdivision.code, iso_code);
    put(target, subdivision.name, names?.en);
    put(target, subdivision.confidence, confidence);
  });
}

function put(target: Target, { key, firstKey }: PartKeys, value: string | number | undefined): void {
  if (value === undefined) return;
  target.event[key] = value;
  if (target.set !== undefined) target.set[key] = value;
  if (target.setOnce !== undefined) target.setOnce[firstKey] = value;
}

interface PartKeys {
  readonly key: string;
  readonly firstKey: string;
}

/** Names are built once: building them for every event would take longer than everything else. */
function keysOf(part: string): PartKeys {
  return { key: `$geoip_${part}`, firstKey: `$initial_geoip_${part}` };
}

function keysOfSubdivision(index: number): { code: PartKeys; name: PartKeys; confidence: PartKeys } {
  const start = `subdivision_${index + 1}`;
  return { code: keysOf(`${start}_code`), name: keysOf(`${start}_name`), confidence: keysOf(`${start}_confidence`) };
}

const keys = {
  city_name: keysOf('city_name'),
  city_confidence: keysOf('city_confidence'),
  country_name: keysOf('country_name'),
  country_code: keysOf('country_code'),
  country_confidence: keysOf('country_confidence'),
  continent_name: keysOf('continent_name'),
  continent_code: keysOf('continent_code'),
  postal_code: keysOf('postal_code'),
  postal_code_confidence: keysOf('postal_code_confidence'),
  latitude: keysOf('latitude'),
  longitude: keysOf('longitude'),
  accuracy_radius: keysOf('accuracy_radius'),
  time_zone: keysOf('time_zone'),
};
const subdivisionKeys = [0, 1, 2].map(keysOfSubdivision);
