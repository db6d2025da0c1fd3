import type { Format, NameTable, Evidence } from '../format.ts';
import { formatByMap } from '../format-by-map.ts';
import { zoneOption } from '../times.ts';
import { groupProperties, createProfileReader } from './profiles.ts';
import { mixpanelMap } from './map.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is `time` of the properties.',
    sources: ['https://docs.mixpanel.com/reference/raw-event-export'],
  },
  zone: {
    rule: 'Seconds since 1970: UTC for projects created since 2023, local time of the project for older ones. Set the option to their zone.',
    sources: ['https://github.com/mixpanel/docs/blob/main/openapi/src/export.openapi.yaml'],
    option: 'time_zone',
  },
  ids: {
    rule: 'The uuid is derived from $insert_id. Mixpanel never deduplicates events without one: their uuid is derived from the content, and equal ones of a file are kept.',
    sources: [
      'https://docs.mixpanel.com/reference/event-deduplication',
      'https://docs.mixpanel.com/troubleshooting/errors/duplicate-events',
    ],
  },
  links: {
    rule: '$user_id is the user, $device_id the device; identity events link them; links that Mixpanel marks as failed are skipped.',
    sources: ['https://docs.mixpanel.com/docs/data-pipelines/common-sql-queries'],
    option: 'identify',
  },
  counts: {
    rule: 'Raw exports are not deduplicated and may contain an event several times; records with the same $insert_id are one event. "terminated early" is reported as incomplete.',
    sources: [
      'https://docs.mixpanel.com/reference/raw-data-export-api',
      'https://github.com/mixpanel/mixpanel-utils/issues/5',
    ],
  },
};

/**
 * Maps Mixpanel's names to those of PostHog's client libraries. Of the events only the page view is renamed, as in PostHog's
 * importer: an event under another name would be stored in addition to the one that it imported.
 */
const mixpanelNames: NameTable = {
  events: { $mp_web_page_view: '$pageview' },
  properties: {
    $app_build_number: '$app_build',
    $app_version_string: '$app_version',
    $carrier: '$network_carrier',
    $city: '$geoip_city_name',
    $geo_source: null,
    $insert_id: null,
    $manufacturer: '$device_manufacturer',
    $model: '$device_model',
    $mp_api_endpoint: null,
    $mp_api_timestamp_ms: null,
    $region: '$geoip_subdivision_1_name',
    $wifi: '$network_wifi',
    current_domain: '$host',
    current_page_title: 'title',
    current_url_path: '$pathname',
    mp_country_code: '$geoip_country_code',
    mp_lib: '$lib',
    mp_processing_time_ms: null,
  },
  person_properties: {
    $avatar: 'avatar',
    $city: '$geoip_city_name',
    $country_code: '$geoip_country_code',
    $email: 'email',
    $first_name: 'first_name',
    $last_name: 'last_name',
    $name: 'name',
    $phone: 'phone',
    $region: '$geoip_subdivision_1_name',
    $timezone: '$geoip_time_zone',
  },
};

const about = {
  slug: 'mixpanel',
  name: 'Mixpanel',
  description:
    'Raw events, identity events ($identify, $create_alias, $merge), profiles of users and groups; warehouse rows ' +
    'give the same events as the export. The uuid is derived from $insert_id as in PostHog’s own importer. Placeholder ids ' +
    '(null, undefined, …) create no person.',
  source:
    'The Raw Event Export API (`/api/2.0/export`, one JSON object per line), the event table from Data Pipelines, ' +
    'Fivetran, Airbyte or Stitch, and the results of the Engage API or its CSV as objects.',
  options: [
    {
      key: 'time_zone',
      label: 'Time zone',
      description:
        'Zone of the project’s timestamps. Projects created before 2023 export local time as if it were UTC: set ' +
        'their zone, e.g. America/Los_Angeles. `$last_seen` and `$created` of profiles are read in it too',
      default: 'UTC',
    },
    {
      key: 'groups',
      label: 'Group keys',
      description: 'Properties that contain group keys, e.g. `company_id` or `company_id:company` to name the type',
    },
    {
      key: 'group_type',
      label: 'Group type',
      description: 'Type of the groups in an export of group profiles without it',
    },
    {
      key: 'identify',
      label: 'Link devices to users',
      description: 'Whether `$identify` links each device to its user',
      default: 'yes',
      choices: ['yes', 'no'],
    },
    {
      key: 'profile_time',
      label: 'Time of profiles',
      description: 'Time of profiles with neither `$last_seen` nor `$created`, e.g. the day of the export',
    },
  ],
  times: {
    own: ['properties.time', 'time'],
    received: ['properties.mp_processing_time_ms', 'properties.$mp_api_timestamp_ms', 'mp_processing_time_ms'],
  },
  evidence,
  names: mixpanelNames,
  example,
};

export const mixpanel: Format = formatByMap(about, ({ options, names, writer }) => {
  const zone = zoneOption('time_zone', options['time_zone'] ?? 'UTC');
  const groups = groupProperties(options['groups'] ?? '');
  const readProfile = createProfileReader(writer, names, zone, options);
  return mixpanelMap({ writer, names, zone, groups, identify: options['identify'] === 'yes', readProfile });
});
