import type { Format, NameTable, Evidence } from '../format.ts';
import { formatByMap } from '../format-by-map.ts';
import { ga4Map } from './map.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is event_timestamp, which is correct even for events that arrived late.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
  },
  zone: {
    rule: 'event_timestamp is in microseconds, UTC; event_date, in the zone of the property, is not used.',
    sources: ['https://support.google.com/analytics/answer/7029846'],
  },
  ids: {
    rule: 'Rows have no id: the uuid is derived from stream, user, time, name and position in the batch, so a row is the same event in events_intraday, in the daily table and after an amendment of that table.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
  },
  links: {
    rule: 'user_id is the user, user_pseudo_id the device. Rows without either were sent without consent; the option sets what happens to them.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
    option: 'without_user',
  },
  counts: {
    rule: 'Daily tables change for up to three days; later events are in no table. Import a day again after that time. Rows without a user are skipped and counted.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
    option: 'without_user',
  },
};

const slug = 'ga4';

const names: NameTable = {
  events: {
    first_visit: null,
    page_view: '$pageview',
    screen_view: '$screen',
    session_start: null,
    user_engagement: '$autocapture',
  },
  properties: {
    app_info_id: '$app_namespace',
    app_info_version: '$app_version',
    batch_event_index: null,
    batch_ordering_id: null,
    batch_page_id: null,
    collected_traffic_source_dclid: 'dclid',
    collected_traffic_source_gclid: 'gclid',
    collected_traffic_source_manual_campaign_name: 'utm_campaign',
    collected_traffic_source_manual_content: 'utm_content',
    collected_traffic_source_manual_medium: 'utm_medium',
    collected_traffic_source_manual_source: 'utm_source',
    collected_traffic_source_manual_term: 'utm_term',
    device_browser: '$browser',
    device_browser_version: '$browser_version',
    device_category: '$device_type',
    device_language: '$browser_language',
    device_mobile_brand_name: '$device_manufacturer',
    device_mobile_marketing_name: '$device_name',
    device_mobile_model_name: '$device_model',
    device_operating_system: '$os',
    device_operating_system_version: '$os_version',
    device_web_info_browser: '$browser',
    device_web_info_browser_version: '$browser_version',
    device_web_info_hostname: '$host',
    event_bundle_sequence_id: null,
    event_date: null,
    event_previous_timestamp: null,
    event_server_timestamp_offset: null,
    firebase_screen: '$screen_name',
    geo_city: '$geoip_city_name',
    geo_continent: '$geoip_continent_name',
    geo_country: '$geoip_country_name',
    geo_region: '$geoip_subdivision_1_name',
    page_location: '$current_url',
    page_referrer: '$referrer',
    page_title: 'title',
  },
  person_properties: {},
};

const about = {
  slug,
  name: 'Google Analytics 4',
  description:
    'Rows of the BigQuery export. Event parameters become properties; records such as `device` and `geo` ' +
    'are flattened: `device.web_info.browser` is `device_web_info_browser` in the name table. User ' +
    'properties, first touch and lifetime value go to `$set`. Rows have no id: the uuid is derived from stream, ' +
    'user, time, name and position in the batch (or from the parameters in rows from before 2024, which have no ' +
    'position), so an amended daily table gives the same events. Values `(not set)` and ' +
    '`(not provided)` are dropped.',
  source:
    'The tables `events_YYYYMMDD` of a BigQuery dataset `analytics_…`, exported as JSON lines, Parquet or Avro; or a ' +
    'flattened event table (one column per parameter) from Fivetran, dbt packages and other loaders.',
  options: [
    {
      key: 'without_user',
      label: 'Events without a user',
      description:
        'What to do with rows that have neither user_id nor user_pseudo_id (sent without consent): skip them, or import ' +
        'each under a unique id without a person.',
      default: 'skip',
      choices: ['skip', 'anonymous'],
    },
  ],
  evidence,
  names,
  example,
};

export const ga4: Format = formatByMap(about, ({ options, names, writer }) =>
  ga4Map(writer, names, options['without_user'] === 'anonymous'),
);
