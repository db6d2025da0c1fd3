import { isObject } from '../../../base/json.ts';
import { canonicalUuid } from '../../../base/uuids.ts';
import { createEventWriter, imported, skippedByName, skipped, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, NameTable, RecordReader, RecordResult, Evidence } from '../format.ts';
import {
  personId,
  asNumber,
  idOf,
  kindOf,
  listOf,
  objectOfJson,
  setMember,
  valueOfJson,
  type Json,
  type Properties,
} from '../read-values.ts';
import { readExample, readObjects, readOptions } from '../reader-parts.ts';
import { hasLoaderColumn, isInCapitals, plainRow } from '../warehouse-row.ts';
import { timeOfTextOrMs } from '../read-times.ts';
import { kindOfTimes } from '../times.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is true_tstamp, else derived_tstamp, which is corrected for the clock of the device, else collector_tstamp.',
    sources: ['https://docs.snowplow.io/docs/events/timestamps'],
  },
  zone: {
    rule: 'All times are UTC.',
    sources: ['https://docs.snowplow.io/docs/events/timestamps'],
  },
  ids: {
    rule: 'The uuid is event_id.',
    sources: ['https://docs.snowplow.io/docs/fundamentals/canonical-event'],
  },
  links: {
    rule: 'user_id is the user, domain_userid, the user id of a mobile session or network_userid the device. Trackers without cookies send none; the option sets what happens to such events.',
    sources: ['https://docs.snowplow.io/docs/sources/web-trackers/anonymous-tracking/'],
    option: 'anonymous',
  },
  counts: {
    rule: "Delivery is at least once, and bots reuse ids: events with the same event_id are one event, as in Snowplow's own models. Failed events are skipped and counted.",
    sources: [
      'https://docs.snowplow.io/docs/modeling-your-data/modeling-your-data-with-dbt/package-mechanics/deduplication/',
    ],
  },
};

const slug = 'snowplow';

const names: NameTable = {
  events: { page_ping: null, page_view: '$pageview', screen_view: '$screen' },
  properties: {
    br_family: '$browser',
    br_lang: '$browser_language',
    br_version: '$browser_version',
    br_viewheight: '$viewport_height',
    br_viewwidth: '$viewport_width',
    domain_sessionid: '$session_id',
    domain_userid: '$device_id',
    dvce_screenheight: '$screen_height',
    dvce_screenwidth: '$screen_width',
    dvce_type: '$device_type',
    etl_tags: null,
    etl_tstamp: null,
    event_fingerprint: null,
    event_format: null,
    geo_city: '$geoip_city_name',
    geo_country: '$geoip_country_code',
    geo_latitude: '$geoip_latitude',
    geo_longitude: '$geoip_longitude',
    geo_region: '$geoip_subdivision_1_code',
    geo_region_name: '$geoip_subdivision_1_name',
    geo_timezone: '$geoip_time_zone',
    geo_zipcode: '$geoip_postal_code',
    load_tstamp: null,
    mkt_campaign: 'utm_campaign',
    mkt_content: 'utm_content',
    mkt_medium: 'utm_medium',
    mkt_source: 'utm_source',
    mkt_term: 'utm_term',
    os_family: '$os',
    os_timezone: '$timezone',
    page_referrer: '$referrer',
    page_title: 'title',
    page_url: '$current_url',
    page_urlhost: '$host',
    page_urlpath: '$pathname',
    page_urlport: null,
    page_urlquery: null,
    page_urlscheme: null,
    refr_urlhost: '$referring_domain',
    user_ipaddress: '$ip',
    useragent: '$useragent',
    v_collector: null,
    v_etl: null,
  },
  person_properties: {},
};

export const snowplow: Format = {
  slug,
  name: 'Snowplow',
  description:
    'Good enriched events, as text lines of 131 columns or as rows with column names. The uuid ' +
    'is event_id. The time is true_tstamp, else derived_tstamp, else collector_tstamp, in UTC. The data of a ' +
    'self-describing event becomes its properties; contexts stay lists under `contexts_<vendor>_<name>_<model>`. ' +
    'A structured event has the name of its se_action. The name table skips page pings; failed events ' +
    '(bad rows) are skipped. Events without any id are kept without a person (option `anonymous`).',
  source:
    'The enriched archive (`enriched/good`), or the `events` table of a warehouse as JSON lines, CSV, Parquet or Avro.',
  options: [
    {
      key: 'anonymous',
      label: 'Events without an id',
      description:
        'What to do with events without any id of a user or device, as trackers without cookies send them: keep them ' +
        'without a person, one anonymous id per session (domain_sessionid) or else per event; or skip and count them',
      default: 'keep',
      choices: ['keep', 'skip'],
    },
  ],
  times: { own: ['true_tstamp', 'derived_tstamp', 'collector_tstamp'], received: ['collector_tstamp'] },
  evidence,
  names,
  example: readExample(example),
  createReader: (given, names, memory) => {
    const options = readOptions(slug, snowplow.options, given);
    return createReader(createEventWriter(slug, names, memory), options['anonymous'] !== 'skip');
  },
};

function createReader(writer: EventWriter, keepsAnonymous: boolean): RecordReader {
  const readRow = readObjects((row) =>
    read(writer, isWarehouseRow(row) ? plainRow(row, 'event_id') : row, keepsAnonymous),
  );
  return (record) => {
    if (typeof record !== 'string') return readRow(record);
    const cells = record.replace(/[\r\n]+$/, '').split('\t');
    if (cells.length !== snowplowColumns.length) {
      return unreadable(`expected ${snowplowColumns.length} columns separated by tabs, got ${cells.length}`);
    }
    const row: Record<string, unknown> = {};
    for (let column = 0; column < cells.length; column += 1) {
      const cell = cells[column];
      if (cell !== '') row[snowplowColumns[column] ?? ''] = cell;
    }
    return readRow(row);
  };
}

/** Snowflake writes columns in capitals, loaders add their own columns. */
const isWarehouseRow = (row: Json): boolean => isInCapitals(row, 'event_id') || hasLoaderColumn(row);

const times = ['true_tstamp', 'derived_tstamp', 'collector_tstamp'] as const;

function read(writer: EventWriter, row: Json, keepsAnonymous: boolean): RecordResult {
  const schema = row['schema'];
  if (typeof schema === 'string' && schema.includes('com.snowplowanalytics.snowplow.badrows')) {
    return skipped('a failed event (bad row)');
  }
  const timestamp =
    timeOfTextOrMs(row['true_tstamp']) ??
    timeOfTextOrMs(row['derived_tstamp']) ??
    timeOfTextOrMs(row['collector_tstamp']);
  if (timestamp === undefined) {
    return unreadable(
      `expected a time in true_tstamp, derived_tstamp or collector_tstamp, got ${kindOfTimes(row, times)}`,
    );
  }
  const unstruct = unstructOf(row);
  const sourceName = nameOf(row, unstruct);
  if (sourceName === undefined) return unreadable(`expected the kind of event in event, got ${kindOf(row['event'])}`);
  // Actions of structured events are free names, even if they equal a type.
  const isKind = row['event'] !== 'struct' || !Object.hasOwn(snowplow.names.events, sourceName);
  const event = isKind ? writer.eventName(sourceName) : sourceName;
  if (event === null) return skippedByName(sourceName);
  const user = personId(row['user_id']);
  const device = personId(row['domain_userid'], mobileDevice(row), row['network_userid']);
  const known = user ?? device;
  if (known === undefined && !keepsAnonymous) return skipped('an event without any id of a user or device');
  const uuid = uuidOf(writer, row);
  const properties = propertiesOf(writer, row, unstruct);
  if (sourceName === 'screen_view') properties['$screen_name'] ??= idOf(unstruct?.data['name']);
  if (known === undefined) {
    const anonymous = `anonymous-${personId(row['domain_sessionid']) ?? uuid}`;
    properties['$process_person_profile'] = false;
    const events = [writer.event(uuid, event, anonymous, timestamp, properties)];
    return { kind: 'events', events, notes: [{ of: 'snowplow_anonymous_kept' }] };
  }
  const identify = user !== undefined && device !== undefined ? writer.identify(user, device, timestamp) : [];
  return imported([...identify, writer.event(uuid, event, known, timestamp, properties)]);
}

function uuidOf(writer: EventWriter, row: Json): string {
  const id = row['event_id'];
  const own = canonicalUuid(id);
  if (own !== undefined) return own;
  const text = idOf(id);
  return text === undefined ? writer.contentId(row) : writer.id('event', text);
}

function nameOf(row: Json, unstruct: SelfDescribing | undefined): string | undefined {
  const kind = idOf(row['event']);
  if (kind === 'struct') return idOf(row['se_action']) ?? kind;
  if (kind === undefined || kind === 'unstruct') return idOf(row['event_name']) ?? unstruct?.name ?? kind;
  return kind;
}

/** Columns that identify person, action and time, and that the event contains elsewhere. */
const readApart = new Set([
  'contexts',
  'derived_contexts',
  'derived_tstamp',
  'event',
  'event_id',
  'true_tstamp',
  'user_id',
]);

function propertiesOf(writer: EventWriter, row: Json, unstruct: SelfDescribing | undefined): Properties {
  const properties: Properties = {};
  for (const column of Object.keys(row)) {
    if (readApart.has(column) || column === unstruct?.column) continue;
    if (!isMaskedId(column, row[column])) writer.put(properties, column, cellOf(column, row[column]));
  }
  const contexts: Record<string, unknown[]> = {};
  for (const column of ['contexts', 'derived_contexts']) {
    if (!addContexts(contexts, column, row[column])) writer.put(properties, column, row[column]);
  }
  writer.putAll(properties, contexts);
  if (unstruct !== undefined) writer.putAll(properties, unstruct.data);
  return properties;
}

/** Whether a tracker wrote a placeholder for a device that must not be identified. */
function isMaskedId(column: string, value: unknown): boolean {
  return (column === 'domain_userid' || column === 'network_userid') && personId(value) === undefined;
}

function cellOf(column: string, value: unknown): unknown {
  if (snowplowNumbers.has(column)) return asNumber(value);
  if (snowplowFlags.has(column))
    return value === '1' || value === 1 ? true : value === '0' || value === 0 ? false : value;
  if (column.startsWith('contexts_') || column.startsWith('unstruct_event_')) return valueOfJson(value) ?? value;
  return value;
}

interface SelfDescribing {
  readonly name: string;
  readonly data: Json;
  /** The column that contains it: `unstruct_event`, or a dedicated one in a warehouse row. */
  readonly column: string;
}

/** `iglu:com.acme/cart_action/jsonschema/1-0-2` */
const schemaPattern = /^iglu:([^/]{1,200})\/([^/]{1,200})\/[^/]{1,50}\/(\d+)(?:-\d+-\d+)?$/;

/** Matches everything but vendor and name in `unstruct_event_com_acme_cart_action_1` (in BigQuery `…_1_0_2`). */
const versionedColumn = /^unstruct_event_|(_\d+){1,3}$/g;

function unstructOf(row: Json): SelfDescribing | undefined {
  const inner = objectOfJson(row['unstruct_event'])?.['data'];
  if (isObject(inner)) {
    const match = typeof inner['schema'] === 'string' ? schemaPattern.exec(inner['schema']) : null;
    const name = match?.[2] ?? 'unstruct';
    return { name, data: isObject(inner['data']) ? inner['data'] : inner, column: 'unstruct_event' };
  }
  for (const column of Object.keys(row)) {
    if (!column.startsWith('unstruct_event_')) continue;
    const data = objectOfJson(row[column]);
    if (data !== undefined) return { name: column.replace(versionedColumn, ''), data, column };
  }
  return undefined;
}

/** Adds a list of contexts to one list per schema. Returns false if the value is not such a list. */
function addContexts(bySchema: Record<string, unknown[]>, column: string, value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  const contexts = objectOfJson(value)?.['data'];
  if (!Array.isArray(contexts)) return false;
  for (const context of contexts as readonly unknown[]) {
    const schema = isObject(context) ? context['schema'] : undefined;
    const match = typeof schema === 'string' ? schemaPattern.exec(schema) : null;
    const content = isObject(context) && match !== null ? context['data'] : context;
    const name = match === null ? column : `contexts_${wordsOf(match[1])}_${wordsOf(match[2])}_${match[3] ?? ''}`;
    const list = Object.hasOwn(bySchema, name) ? bySchema[name] : undefined;
    if (list === undefined) setMember(bySchema, name, [content]);
    else list.push(content);
  }
  return true;
}

/** Converts `com.acme.CartAction` to `com_acme_cart_action`, as in column names of warehouses. */
function wordsOf(text = ''): string {
  return text
    .replaceAll(/[.\-\s]/g, '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
}

/** Mobile trackers write the device to the session context. */
function mobileDevice(row: Json): unknown {
  const column = row['contexts_com_snowplowanalytics_snowplow_client_session_1'];
  if (column !== undefined) {
    const [session] = listOf(valueOfJson(column));
    return isObject(session) ? (session['userId'] ?? session['user_id']) : undefined;
  }
  const text = row['contexts'];
  if (idOf(row['domain_userid']) !== undefined || typeof text !== 'string' || !text.includes('/client_session/'))
    return undefined;
  const session = listOf(objectOfJson(text)?.['data']).find(
    (context) => isObject(context) && String(context['schema']).includes('/client_session/'),
  );
  const data = isObject(session) ? session['data'] : undefined;
  return isObject(data) ? data['userId'] : undefined;
}

/** The 131 columns of an enriched event in the order of a text line: publicly documented, and unchanged since version R102. */
export const snowplowColumns: readonly string[] = [
  ...split(
    'app_id platform etl_tstamp collector_tstamp dvce_created_tstamp event event_id txn_id name_tracker v_tracker',
  ),
  ...split('v_collector v_etl user_id user_ipaddress user_fingerprint domain_userid domain_sessionidx network_userid'),
  ...split('geo_country geo_region geo_city geo_zipcode geo_latitude geo_longitude geo_region_name ip_isp'),
  ...split('ip_organization ip_domain ip_netspeed page_url page_title page_referrer page_urlscheme page_urlhost'),
  ...split('page_urlport page_urlpath page_urlquery page_urlfragment refr_urlscheme refr_urlhost refr_urlport'),
  ...split('refr_urlpath refr_urlquery refr_urlfragment refr_medium refr_source refr_term mkt_medium mkt_source'),
  ...split('mkt_term mkt_content mkt_campaign contexts se_category se_action se_label se_property se_value'),
  ...split('unstruct_event tr_orderid tr_affiliation tr_total tr_tax tr_shipping tr_city tr_state tr_country'),
  ...split('ti_orderid ti_sku ti_name ti_category ti_price ti_quantity pp_xoffset_min pp_xoffset_max pp_yoffset_min'),
  ...split('pp_yoffset_max useragent br_name br_family br_version br_type br_renderengine br_lang br_features_pdf'),
  ...split('br_features_flash br_features_java br_features_director br_features_quicktime br_features_realplayer'),
  ...split('br_features_windowsmedia br_features_gears br_features_silverlight br_cookies br_colordepth br_viewwidth'),
  ...split('br_viewheight os_name os_family os_manufacturer os_timezone dvce_type dvce_ismobile dvce_screenwidth'),
  ...split('dvce_screenheight doc_charset doc_width doc_height tr_currency tr_total_base tr_tax_base'),
  ...split('tr_shipping_base ti_currency ti_price_base base_currency geo_timezone mkt_clickid mkt_network etl_tags'),
  ...split('dvce_sent_tstamp refr_domain_userid refr_dvce_tstamp derived_contexts domain_sessionid derived_tstamp'),
  ...split('event_vendor event_name event_format event_version event_fingerprint true_tstamp'),
];

/** Numeric columns, which text lines and CSV contain as text. */
const snowplowNumbers: ReadonlySet<string> = new Set([
  ...split('txn_id domain_sessionidx geo_latitude geo_longitude page_urlport refr_urlport se_value tr_total tr_tax'),
  ...split('tr_shipping ti_price ti_quantity pp_xoffset_min pp_xoffset_max pp_yoffset_min pp_yoffset_max br_viewwidth'),
  ...split('br_viewheight dvce_screenwidth dvce_screenheight doc_width doc_height tr_total_base tr_tax_base'),
  ...split('tr_shipping_base ti_price_base'),
]);

/** Columns with 1 or 0 for true or false. */
const snowplowFlags: ReadonlySet<string> = new Set([
  ...split('br_features_pdf br_features_flash br_features_java br_features_director br_features_quicktime'),
  ...split('br_features_realplayer br_features_windowsmedia br_features_gears br_features_silverlight br_cookies'),
  ...split('dvce_ismobile'),
]);

function split(names: string): readonly string[] {
  return names.split(' ');
}
