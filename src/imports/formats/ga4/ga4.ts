import { isObject } from '../../../base/json.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { createEventWriter, imported, leftOut, skipped, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, NameTable, RecordReader } from '../format.ts';
import { personId } from '../person-id.ts';
import { readObjects } from '../read-objects.ts';
import { readOptions } from '../read-options.ts';
import { timeOfEpoch } from '../read-times.ts';
import { asNumber, firstId, idOf, kindOf, listOf, objectOf, setMember } from '../read-values.ts';
import type { Json, Properties } from '../read-values.ts';
import { ga4Example } from './example.ts';
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
  names,
  example: ga4Example,
  createReader: (given, names, memory) => {
    const options = readOptions(slug, ga4.options, given);
    return createReader(createEventWriter(slug, names, memory), options['without_user'] === 'anonymous');
  },
};

/** Members of a row that are no properties as they stand. */
const readApart = new Set(
  [
    'event_name',
    'event_params',
    'event_timestamp',
    'items',
    'user_first_touch_timestamp',
    'user_id',
    'user_ltv',
  ].concat(['user_properties', 'user_pseudo_id']),
);

function createReader(writer: EventWriter, importAnonymous: boolean): RecordReader {
  return readObjects((record) => {
    const row = exportedRow(record);
    const sourceName = row['event_name'];
    if (typeof sourceName !== 'string' || sourceName === '') {
      return unreadable(`expected event_name as a text, got ${kindOf(sourceName)}`);
    }
    const timestamp = timeOfEpoch(row['event_timestamp'], 'us');
    if (timestamp === undefined) {
      return unreadable(`expected event_timestamp in microseconds since 1970, got ${kindOf(row['event_timestamp'])}`);
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
}

/** Google sends nothing twice under one place in a batch; without a place two equal rows are two events. */
function idOfRow(writer: EventWriter, row: Json, record: Json): string {
  const key = [
    'event',
    ...['stream_id', 'user_pseudo_id', 'user_id', 'event_timestamp', 'event_name', 'event_bundle_sequence_id'].map(
      (column) => idOf(row[column]) ?? '',
    ),
  ];
  const place = idOf(row['batch_event_index']);
  if (place !== undefined) {
    return writer.id(...key, firstId(row['batch_page_id']) ?? '', firstId(row['batch_ordering_id']) ?? '', place);
  }
  // A flattened row has its parameters in columns, as many as there are.
  const parameters = row['event_params'] ?? (row === record ? null : row);
  const content = canonicalJson([parameters, row['items'] ?? null]);
  return writer.countedId(...key, content);
}

function propertiesOf(writer: EventWriter, row: Json): Properties {
  const properties: Properties = {};
  for (const column of Object.keys(row)) {
    if (!readApart.has(column)) putFlattened(writer, properties, column, row[column], 4);
  }
  for (const each of listOf(row['event_params'])) putParameter(properties, each, writer.put);
  const items = listOf(row['items']).filter(isObject).map(itemOf);
  if (items.length > 0) writer.put(properties, 'items', items);
  const person: Properties = {};
  for (const each of listOf(row['user_properties'])) putParameter(person, each, writer.putPerson);
  const firstTouch = timeOfEpoch(row['user_first_touch_timestamp'], 'us');
  writer.putPerson(person, 'user_first_touch_timestamp', firstTouch);
  for (const [key, value] of Object.entries(objectOf(row['user_ltv']))) {
    if (isSet(value)) writer.putPerson(person, `user_ltv_${key}`, asNumber(value));
  }
  if (Object.keys(person).length > 0) properties['$set'] = person;
  return properties;
}

/** `geo: {country}` as `geo_country`. Lists, and what lies deeper than four levels, stay as they are. */
function putFlattened(writer: EventWriter, target: Properties, name: string, value: unknown, levels: number): void {
  if (isObject(value) && levels > 0) {
    for (const key of Object.keys(value)) putFlattened(writer, target, `${name}_${key}`, value[key], levels - 1);
  } else if (isSet(value) && !(Array.isArray(value) && value.length === 0)) writer.put(target, name, value);
}

function putParameter(target: Properties, parameter: unknown, put: EventWriter['put']): void {
  if (!isObject(parameter) || typeof parameter['key'] !== 'string') return;
  const value = valueOf(parameter['value']);
  if (isSet(value)) put(target, parameter['key'], value);
}

/** The one of `string_value`, `int_value`, `float_value` and `double_value` that is there; JSON exports write integers as text. */
function valueOf(value: unknown): unknown {
  if (!isObject(value)) return value;
  const text = value['string_value'];
  if (text !== undefined && text !== null) return text;
  for (const type of ['int_value', 'double_value', 'float_value']) {
    const number = value[type];
    if (number !== undefined && number !== null) return asNumber(number);
  }
  return undefined;
}

function itemOf(item: Json): Properties {
  const read: Properties = {};
  for (const key of Object.keys(item)) {
    if (key !== 'item_params' && isSet(item[key])) setMember(read, key, item[key]);
  }
  for (const each of listOf(item['item_params'])) putParameter(read, each, setMember);
  return read;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && value !== '(not set)' && value !== '(not provided)';
}
