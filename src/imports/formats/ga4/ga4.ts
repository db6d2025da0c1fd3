import { createEventWriter, imported, leftOut, skipped, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, NameTable, RecordReader } from '../format.ts';
import { personId } from '../person-id.ts';
import { withPlain } from '../plain-table.ts';
import { readExample } from '../read-example.ts';
import { readObjects } from '../read-objects.ts';
import { readOptions } from '../read-options.ts';
import { timeOfEpoch } from '../read-times.ts';
import { kindOf, listOf, type Json, type Properties } from '../read-values.ts';
import { kindOfTime } from '../times.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { ga4Plain } from './plain.ts';
import { idOfRow } from './row-id.ts';
import { addItems, addLifetime, putFlattened, putParameter, readApart } from './row-values.ts';
import { exportedRow } from './warehouse.ts';

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

export const ga4: Format = {
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
  example: readExample(example),
  createReader: (given, names, memory) => {
    const options = readOptions(slug, ga4.options, given);
    return createReader(createEventWriter(slug, names, memory), names, options['without_user'] === 'anonymous');
  },
};

function createReader(writer: EventWriter, names: NameTable, importAnonymous: boolean): RecordReader {
  const read = readObjects((record) => {
    const row = exportedRow(record);
    const sourceName = row['event_name'];
    if (typeof sourceName !== 'string' || sourceName === '') {
      return unreadable(`expected event_name as a text, got ${kindOf(sourceName)}`);
    }
    const timestamp = timeOfEpoch(row['event_timestamp'], 'us');
    if (timestamp === undefined) {
      return unreadable(
        `expected event_timestamp in microseconds since 1970, got ${kindOfTime(row['event_timestamp'])}`,
      );
    }
    const event = writer.eventName(sourceName);
    if (event === null) return leftOut(sourceName);
    const user = personId(row['user_id']);
    const device = personId(row['user_pseudo_id']);
    if (user === undefined && device === undefined && !importAnonymous) {
      return skipped('neither user_id nor user_pseudo_id: sent without consent');
    }
    const uuid = idOfRow(writer, row, record);
    const properties = propertiesOf(writer, row);
    const distinctId = user ?? device ?? uuid;
    if (user === undefined && device === undefined) properties['$process_person_profile'] = false;
    const identify = user !== undefined && device !== undefined ? writer.identify(user, device, timestamp) : [];
    return imported([...identify, writer.event(uuid, event, distinctId, timestamp, properties)]);
  });
  return withPlain(read, ga4Plain(writer, names));
}

function propertiesOf(writer: EventWriter, row: Json): Properties {
  const properties: Properties = {};
  for (const column of Object.keys(row)) {
    if (!readApart.has(column)) putFlattened(writer, properties, column, row[column], 4);
  }
  for (const each of listOf(row['event_params'])) putParameter(properties, each, writer.put);
  addItems(writer, properties, row['items']);
  const person: Properties = {};
  for (const each of listOf(row['user_properties'])) putParameter(person, each, writer.putPerson);
  addLifetime(writer, person, row['user_first_touch_timestamp'], row['user_ltv']);
  if (Object.keys(person).length > 0) properties['$set'] = person;
  return properties;
}
