import { describe, expect, it } from 'vitest';
import type { CityRecord } from '../host.ts';
import type { SettingValues } from '../fields.ts';
import type { JsonObject } from '../../base/json.ts';
import { geoip } from './geoip.ts';
import { testHost } from '../../../test/support/transformation-host.ts';
import { parsed, transform } from './transformation.fixture.ts';

function located(record: CityRecord | null, properties: JsonObject, settings: SettingValues = {}): JsonObject {
  const asked: string[] = [];
  const locate = (ip: string): CityRecord | null => {
    asked.push(ip);
    return record;
  };
  const result = transform(geoip, settings, { properties }, testHost({ geoip: { locate } }));
  if (result === null) throw new Error('expected the event to be kept');
  return { asked, properties: result.properties };
}

const swiss: CityRecord = { country: { names: { en: 'Switzerland' }, iso_code: 'CH' } };
const parts =
  'city_name city_confidence subdivision_2_name subdivision_2_code subdivision_1_name subdivision_1_code country_name ' +
  'country_code continent_name continent_code postal_code latitude longitude accuracy_radius time_zone';
const nulls = (prefix: string): JsonObject => Object.fromEntries(parts.split(' ').map((part) => [prefix + part, null]));

describe('GeoIP', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = geoip.example;
    expect(transform(geoip, settings, before)).toEqual(after);
  });

  it('writes known parts to the event, and null for missing ones to the person', () => {
    const result = located(swiss, { $ip: '198.51.100.7', $set: { plan: 'pro', $geoip_city_name: 'Bern' } });
    expect(result['properties']).toEqual({
      $ip: '198.51.100.7',
      $geoip_country_name: 'Switzerland',
      $geoip_country_code: 'CH',
      $set: {
        ...nulls('$geoip_'),
        plan: 'pro',
        $geoip_city_name: 'Bern',
        $geoip_country_name: 'Switzerland',
        $geoip_country_code: 'CH',
      },
      $set_once: {
        ...nulls('$initial_geoip_'),
        $initial_geoip_country_name: 'Switzerland',
        $initial_geoip_country_code: 'CH',
      },
    });
  });

  it('events never share written values: changing one does not affect the next', () => {
    const run = geoip.create({}, testHost({ geoip: { locate: () => swiss } }));
    if (typeof run !== 'function') throw new Error('expected one event at a time');
    const event = (): Parameters<typeof run>[0] => ({
      uuid: '',
      event: 'e',
      distinct_id: 'u',
      team_id: 1,
      timestamp: '',
      properties: { $ip: '1.1.1.1' },
    });
    const first = run(event());
    const set = first?.properties['$set'];
    if (typeof set === 'object' && set !== null && !Array.isArray(set)) set['$geoip_city_name'] = 'changed';
    expect(run(event())?.properties['$set']).toMatchObject({ $geoip_city_name: null });
  });

  it.each<[string, JsonObject, SettingValues]>([
    ['without an address', {}, {}],
    ['an address that is no text', { $ip: 5 }, {}],
    ['switched off by the sender', { $ip: '1.1.1.1', $geoip_disable: true }, {}],
    ['a library to skip', { $ip: '1.1.1.1', $lib: 'posthog-node' }, { skip_libs: 'posthog-python, posthog-node' }],
  ])('%s: nothing is looked up, nothing changes', (_name, properties, settings) => {
    expect(located(swiss, properties, settings)).toEqual({ asked: [], properties });
  });

  it('an unknown address changes nothing', () => {
    const properties = { $ip: '203.0.113.1' };
    expect(located(null, properties)).toEqual({ asked: ['203.0.113.1'], properties });
  });

  it('127.0.0.1 is used as it is unless a setting replaces it', () => {
    expect(located(null, { $ip: '127.0.0.1' })['asked']).toEqual(['127.0.0.1']);
    const spoofed = located(null, { $ip: '127.0.0.1' }, { local_address: '198.51.100.7' });
    expect(spoofed['asked']).toEqual(['198.51.100.7']);
  });

  it.each<JsonObject>([{ $ip: '1.1.1.1' }, { $ip: '1.1.1.1', $geoip_disable: true }])(
    'discards the address on request, looked up or not: %j',
    (properties) => {
      expect(located(null, properties, { discard_ip: 'Yes' })['properties']).not.toHaveProperty('$ip');
    },
  );

  it('reads the address from another property, and does not change the person on request', () => {
    const settings = { ip_property: 'request.ip', person: 'No' };
    const result = located(swiss, { request: { ip: '1.2.3.4' } }, settings);
    expect(result).toEqual({
      asked: ['1.2.3.4'],
      properties: {
        request: { ip: '1.2.3.4' },
        $geoip_country_name: 'Switzerland',
        $geoip_country_code: 'CH',
      },
    });
  });

  it('replaces a $set that is not an object, and keeps names such as __proto__ plain', () => {
    expect(located(swiss, { $ip: '1.1.1.1', $set: 5 })['properties']).toMatchObject({
      $set: { $geoip_country_code: 'CH' },
    });
    const result = located(swiss, parsed('{"$ip": "1.1.1.1", "$set": {"__proto__": {"a": 1}}}'));
    expect(JSON.stringify(result)).toContain('"__proto__":{"a":1}');
  });

  it('says what to do when there is no database', () => {
    const host = testHost({ geoip: undefined, geoipProblem: 'set the path of a database' });
    expect(() => geoip.create({}, host)).toThrow('set the path of a database');
  });
});
