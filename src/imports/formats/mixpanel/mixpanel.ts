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
    rule: 'Seconds since 1970. Days are UTC for projects made from 2023 on and in the zone of the project for older ones, whose seconds count local time: the option gives the zone.',
    sources: ['https://github.com/mixpanel/docs/blob/main/openapi/src/export.openapi.yaml'],
    option: 'time_zone',
  },
  ids: {
    rule: 'The uuid follows from $insert_id. Events without one never count as repetitions in Mixpanel: their uuid follows from the content, and equal ones of a file are kept.',
    sources: [
      'https://docs.mixpanel.com/reference/event-deduplication',
      'https://docs.mixpanel.com/troubleshooting/errors/duplicate-events',
    ],
  },
  links: {
    rule: '$user_id is the user, $device_id the device; identity events link them; what Mixpanel says has failed is not linked.',
    sources: ['https://docs.mixpanel.com/docs/data-pipelines/common-sql-queries'],
    option: 'identify',
  },
  counts: {
    rule: 'Raw exports are not deduplicated, so an event may be in them several times; those of one $insert_id are one event. "terminated early" is reported as incomplete.',
    sources: [
      'https://docs.mixpanel.com/reference/raw-data-export-api',
      'https://github.com/mixpanel/mixpanel-utils/issues/5',
    ],
  },
};

/**
 * Mixpanel's own names in the words of PostHog's client libraries. Of the events only the page view is renamed: PostHog's
 * importer does the same, and an event under another name would be stored beside the one that it brought.
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
    'Raw events, identity events ($identify, $create_alias, $merge), profiles of users and groups; rows of a warehouse ' +
    'become what the export would have said. The uuid follows from $insert_id as in PostHog’s own importer. Ids that ' +
    'mean nobody (null, undefined, …) make no person.',
  source:
    'The Raw Event Export API (`/api/2.0/export`, one JSON object per line), the table of events as the Data Pipelines, ' +
    'Fivetran, Airbyte or Stitch write it, and the results of the Engage API or its CSV as objects.',
  options: [
    {
      key: 'time_zone',
      description:
        'Zone in which the project counts its seconds. Projects made before 2023 export local time as if it were UTC: give ' +
        'their zone, e.g. America/Los_Angeles. `$last_seen` and `$created` of profiles are read in it too',
      default: 'UTC',
    },
    {
      key: 'groups',
      description: 'Properties that hold keys of groups, e.g. `company_id` or `company_id:company` to name the type',
    },
    { key: 'group_type', description: 'Type of the groups in an export of group profiles that does not say it' },
    {
      key: 'identify',
      description: 'Whether `$identify` links each device to its user',
      default: 'yes',
      choices: ['yes', 'no'],
    },
    {
      key: 'profile_time',
      description: 'Time of profiles that say neither `$last_seen` nor `$created`, e.g. the day of the export',
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
