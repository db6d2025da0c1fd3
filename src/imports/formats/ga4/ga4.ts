import type { Format, NameTable, Evidence } from '../format.ts';
import { formatByMap } from '../format-by-map.ts';
import { ga4Map } from './map.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is event_timestamp, right also where an event arrived late.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
  },
  zone: {
    rule: 'event_timestamp is in microseconds, UTC; event_date, in the zone of the property, is not used.',
    sources: ['https://support.google.com/analytics/answer/7029846'],
  },
  ids: {
    rule: 'A row has no id of its own: the uuid follows from stream, user, time, name and place in the batch, so a row is the same one in events_intraday and in the daily table, and after a daily table was amended.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
  },
  links: {
    rule: 'user_id is the user, user_pseudo_id the device. Rows without either were sent without consent; the option says what happens to them.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
    option: 'without_user',
  },
  counts: {
    rule: 'Daily tables change for up to three days, and what arrives later is in none: import a day again after that time. Rows without a user are skipped and counted.',
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
    'Rows of the BigQuery export. Parameters of an event become properties; records such as `device` and `geo` ' +
    'are taken apart, `device.web_info.browser` is called `device_web_info_browser` in the table of names. User ' +
    'properties, first touch and lifetime value go to `$set`. A row has no id: its uuid follows from stream, ' +
    'user, time, name and place in the batch (in rows from before 2024, which have no place, from the parameters ' +
    'instead), so a daily table that Google amended later gives the same events again. Values `(not set)` and ' +
    '`(not provided)` are left out.',
  source:
    'The tables `events_YYYYMMDD` of a BigQuery dataset `analytics_…`, exported as JSON lines, Parquet or Avro; or a ' +
    'flattened table of events (a column per parameter), as Fivetran, dbt packages and other loaders write it.',
  options: [
    {
      key: 'without_user',
      description:
        'What to do with rows that have neither user_id nor user_pseudo_id (sent without consent): skip them, or import ' +
        'each under an id of its own without a person.',
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
