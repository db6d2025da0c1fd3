import { trueFalse } from '../fields.ts';
import { personPropertiesIfAny } from './properties/person-properties.ts';
import { defineTransformation, SettingsError } from '../plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { listSetting, textSetting } from '../setting-values.ts';

/** The label of a GeoIP run in $plugins_succeeded. */
const geoipLabel = /^GeoIP \(\d+\)$/;

export const advancedGeoip = defineTransformation({
  slug: 'advanced-geoip',
  name: 'Advanced GeoIP',
  description: 'After GeoIP: removes the IP address, or the location of events from server libraries.',
  alsoKnownAs: ['Advanced GeoIP', 'posthog-app-advanced-geoip', 'plugin-advanced-geoip'],
  differences: [
    'Libraries are compared case-insensitively; the published one misses names with capitals.',
    'Every property that starts with $geoip_ is removed; the published one keeps newer ones (accuracy radius, confidence).',
  ],
  fields: [
    {
      key: 'discardIp',
      name: 'Discard IP addresses after GeoIP',
      ...trueFalse('false'),
      required: true,
      hint: 'Removes $ip from events that the GeoIP transformation has processed. Put this one after it.',
    },
    {
      key: 'discardLibs',
      name: 'Discard GeoIP for libraries',
      type: 'string',
      hint: 'Comma-separated values of $lib whose events lose their $geoip_ properties, e.g. posthog-node, posthog-python',
    },
  ],
  example: {
    settings: { discardIp: 'true', discardLibs: 'posthog-node' },
    before: {
      event: 'paid',
      properties: {
        $lib: 'posthog-node',
        $ip: '198.51.100.7',
        $geoip_country_code: 'CH',
        $set: { plan: 'pro', $geoip_country_code: 'CH' },
        $plugins_succeeded: ['GeoIP (3)'],
      },
    },
    after: { properties: { $lib: 'posthog-node', $set: { plan: 'pro' }, $plugins_succeeded: ['GeoIP (3)'] } },
  },
  create(settings) {
    const discardsIp = textSetting(settings, 'discardIp', 'false') === 'true';
    const libs = new Set(listSetting(settings, 'discardLibs').map((lib) => lib.toLowerCase()));
    if (!discardsIp && libs.size === 0) {
      throw new SettingsError('nothing to do: set "discardIp" to true, or give "discardLibs"');
    }
    return (event) => {
      const { properties } = event;
      const lib = libs.size > 0 && Object.hasOwn(properties, '$lib') ? properties['$lib'] : undefined;
      if (typeof lib === 'string' && libs.has(lib.toLowerCase())) discardPlace(properties);
      if (discardsIp && sawGeoip(properties)) delete properties['$ip'];
      return event;
    };
  },
});

function discardPlace(properties: JsonObject): void {
  deleteStarting(properties, '$geoip_');
  deleteStarting(personPropertiesIfAny(properties, '$set'), '$geoip_');
  deleteStarting(personPropertiesIfAny(properties, '$set_once'), '$initial_geoip_');
}

function deleteStarting(holder: JsonObject | undefined, prefix: string): void {
  // $geoip_disable is an instruction of the sender, not a location.
  for (const key in holder) if (key.startsWith(prefix) && key !== '$geoip_disable') delete holder[key];
}

function sawGeoip(properties: JsonObject): boolean {
  const succeeded = Object.hasOwn(properties, '$plugins_succeeded') ? properties['$plugins_succeeded'] : undefined;
  if (!Array.isArray(succeeded)) return false;
  return succeeded.some((label) => typeof label === 'string' && geoipLabel.test(label));
}
