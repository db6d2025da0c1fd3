import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import { advancedGeoip } from './advanced-geoip.ts';
import { testHost } from '../../../test/support/transformation-host.ts';
import { transform, transformed } from './transformation.fixture.ts';

const place: JsonObject = {
  $geoip_city_name: 'Bern',
  $geoip_accuracy_radius: 5,
  $set: { kept: 1, $geoip_city_name: 'Bern' },
  $set_once: { kept: 1, $initial_geoip_city_name: 'Bern' },
};

describe('Advanced GeoIP', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = advancedGeoip.example;
    expect(transform(advancedGeoip, settings, before)).toEqual(after);
  });

  it('removes the location from events of the libraries, case-insensitively, and keeps the rest', () => {
    const settings = { discardLibs: 'Posthog-Node , other' };
    const before = { $lib: 'posthog-node', $geoip_disable: false, ...place };
    expect(transformed(advancedGeoip, settings, before)).toEqual({
      $lib: 'posthog-node',
      $geoip_disable: false,
      $set: { kept: 1 },
      $set_once: { kept: 1 },
    });
  });

  it.each<JsonObject>([{ $lib: 'web', ...place }, place, { $lib: 5, ...place }])(
    'does not change others: %j',
    (before) => {
      expect(transformed(advancedGeoip, { discardLibs: 'posthog-node' }, before)).toEqual(before);
    },
  );

  it.each<[JsonObject[string] | undefined, boolean]>([
    [['GeoIP (1)'], true],
    [['Rename (2)', 'GeoIP (17)'], true],
    [['Advanced GeoIP (1)'], false],
    [[5], false],
    ['GeoIP (1)', false],
    [undefined, false],
  ])('after %j the IP address is discarded: %j', (succeeded, discarded) => {
    const before: JsonObject = { $ip: '1.1.1.1' };
    if (succeeded !== undefined) before['$plugins_succeeded'] = succeeded;
    const after = transformed(advancedGeoip, { discardIp: 'true' }, before);
    expect(Object.hasOwn(after, '$ip')).toBe(!discarded);
  });

  it('refuses settings without an effect', () => {
    expect(() => advancedGeoip.create({ discardIp: 'false' }, testHost())).toThrow('nothing to do');
  });
});
