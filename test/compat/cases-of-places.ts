import * as fc from 'fast-check';
import type { CityRecord } from '../../src/plugins/host.ts';
import { advancedGeoip } from '../../src/plugins/transformations/advanced-geoip.ts';
import { geoip } from '../../src/plugins/transformations/geoip.ts';
import { userAgent } from '../../src/plugins/transformations/user-agent.ts';
import type { Case } from './case.ts';
import type { Job } from './compare.ts';
import { event, person, some, text, value, withSome } from './events.ts';

const named = fc.record({ names: fc.record({ en: fc.constantFrom('Bern', 'Oslo') }, { requiredKeys: [] }) });
const confidence = fc.integer({ min: 0, max: 100 });
const record: fc.Arbitrary<CityRecord> = fc.record(
  {
    city: fc.record({ names: fc.record({ en: fc.constant('Bern') }), confidence }, { requiredKeys: ['names'] }),
    continent: fc.record({ names: fc.record({ en: fc.constant('Europe') }), code: fc.constant('EU') }),
    country: fc.record(
      { names: fc.record({ en: fc.constant('Switzerland') }), iso_code: fc.constant('CH'), confidence },
      { requiredKeys: ['names', 'iso_code'] },
    ),
    postal: fc.record({ code: fc.constant('3001'), confidence }, { requiredKeys: ['code'] }),
    location: fc.record(
      {
        latitude: fc.constant(46.9),
        longitude: fc.constant(7.4),
        accuracy_radius: fc.constant(20),
        time_zone: fc.constant('Europe/Zurich'),
      },
      { requiredKeys: ['latitude', 'longitude'] },
    ),
    subdivisions: fc.array(
      fc.tuple(named, fc.constantFrom('BE', 'OS')).map(([one, iso_code]) => Object.assign({}, one, { iso_code })),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
);

/** As the published plugins see a record. */
function camelCase({ country, location, subdivisions, ...rest }: CityRecord): object {
  return {
    ...rest,
    ...(country && { country: { ...country, isoCode: country.iso_code } }),
    ...(location && {
      location: { ...location, accuracyRadius: location.accuracy_radius, timeZone: location.time_zone },
    }),
    ...(subdivisions && { subdivisions: subdivisions.map((each) => ({ ...each, isoCode: each.iso_code })) }),
  };
}

const known = '198.51.100.7';
const local = '127.0.0.1';

function hasGap({ location, subdivisions = [] }: CityRecord): boolean {
  const gapInLocation = location !== undefined && !(location.accuracy_radius && location.time_zone);
  return gapInLocation || subdivisions.some(({ names }) => names?.en === undefined);
}

const places: Case & { readonly records: WeakMap<Job, CityRecord> } = {
  published: 'posthog-plugin-geoip',
  plugin: geoip,
  records: new WeakMap<Job, CityRecord>(),
  jobs: fc
    .tuple(
      record,
      some(
        event(
          withSome({
            $ip: fc.oneof({ weight: 5, arbitrary: fc.constant(known) }, fc.constantFrom('203.0.113.1', local, '', 5)),
            $geoip_disable: fc.constantFrom(true, false, 0, 'yes'),
            $set: person,
            $set_once: person,
          }),
        ),
      ),
    )
    .map(([found, events]) => {
      const locate = (ip: string): CityRecord | null => (ip === known || ip === '13.106.122.3' ? found : null);
      const job: Job = {
        settings: {},
        meta: {
          config: {},
          geoip: {
            locate: (ip) => {
              const located = locate(ip);
              return located && camelCase(located);
            },
          },
        },
        host: { geoip: { locate } },
        events,
      };
      places.records.set(job, found);
      return job;
    }),
  mayDiffer: ({ before }, job) => {
    if (before.properties['$ip'] === local) return '127.0.0.1 has no place';
    const found = places.records.get(job);
    return found !== undefined && hasGap(found) ? 'A part that the database has no value for' : undefined;
  },
};

const lib = fc.constantFrom('web', 'posthog-node', 'Posthog-Node', 'constructor');
const advanced: Case = {
  published: 'posthog-app-advanced-geoip',
  plugin: advancedGeoip,
  jobs: fc
    .tuple(
      fc.constantFrom('true', 'false'),
      fc.constantFrom('posthog-node', 'Posthog-Node , other', 'web,posthog-node'),
      some(
        event(
          withSome({
            $lib: lib,
            $ip: fc.constant(known),
            $geoip_city_name: fc.constant('Bern'),
            $geoip_subdivision_2_code: fc.constant('BE'),
            $geoip_accuracy_radius: fc.constant(20),
            $set: fc.record({ $geoip_city_name: text, kept: text }, { requiredKeys: [], noNullPrototype: true }),
            $set_once: fc.record(
              { $initial_geoip_time_zone: text, kept: text },
              { requiredKeys: [], noNullPrototype: true },
            ),
            $plugins_succeeded: fc.constantFrom(
              ['GeoIP (1)'],
              ['Rename (1)', 'GeoIP (22)'],
              ['My GeoIP (1)'],
              [],
              'GeoIP (1)',
            ),
          }),
        ),
      ),
    )
    .map(([discardIp, discardLibs, events]) => ({
      settings: { discardIp, discardLibs },
      meta: { config: { discardIp, discardLibs } },
      events,
    })),
  mayDiffer: ({ before: { properties } }) => {
    if (properties['$lib'] === 'Posthog-Node') return 'Libraries are compared without regard';
    return '$geoip_accuracy_radius' in properties ? 'Every property that starts with $geoip_' : undefined;
  },
};

const header = fc.oneof(
  fc.constantFrom(
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
    'Mozilla/5.0 (Linux; Android 13; SM-X200) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15',
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1) AppleWebKit/537.36 Chrome/52.0 Mobile Safari/537.36 Edge/15.15063',
    'BlackBerry9700/5.0.0.862',
    'Mozilla/5.0 (iPad; CPU OS 12_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
    'iPod',
    'wpdesktop WPDesktop',
    'curl/8.5.0',
    '',
  ),
  text,
);
const flag = fc.constantFrom('true', 'false');
const agents: Case = {
  published: 'user-agent-plugin',
  plugin: userAgent,
  jobs: fc
    .tuple(
      fc.record({ overrideUserAgentDetails: flag, enableSegmentAnalyticsJs: flag }),
      some(
        event(
          withSome({
            $useragent: header,
            '$user-agent': fc.oneof(header, value),
            $user_agent: header,
            segment_userAgent: header,
            $raw_user_agent: header,
            $os: text,
          }),
        ),
      ),
    )
    .map(([config, events]) => ({ settings: config, meta: { config }, events })),
  mayDiffer: ({ before: { properties } }) => {
    if (['$useragent', '$user-agent', '$user_agent'].some((key) => typeof (properties[key] ?? '') !== 'string')) {
      return 'Only the first';
    }
    return '$raw_user_agent' in properties ? 'Without the usual properties' : undefined;
  },
};

export const casesOfPlaces: readonly Case[] = [places, advanced, agents];
