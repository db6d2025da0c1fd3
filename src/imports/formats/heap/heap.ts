import { canonicalJson } from '../../../base/canonical-json.ts';
import { assumedZone, assumedZoneOption, timeOfTextOrMs } from '../read-times.ts';
import { imported, unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import type { Format, NameTable, RecordResult, Evidence } from '../format.ts';
import { nameIn, put, timeIn, uuidIn } from '../map-rules.ts';
import { formatByMap } from '../format-by-map.ts';
import { personId, idOf, kindOf, objectOfJson, type Json, type Properties } from '../read-values.ts';
import type { Identity } from '../record-map.ts';
import { kindOfTime, kindOfTimes, type Zone } from '../times.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time of an event is `time` on the clock of the device, which Heap does not correct; that of a user is last_modified, else joindate.',
    sources: [
      'https://help.heap.io/heap-connect/heap-connect-guide/data-schema',
      'https://help.heap.io/data-types/event-faqs/why-do-i-see-events-and-users-from-the-future',
    ],
  },
  zone: {
    rule: 'The zone of times without one is not documented: UTC by default, set the option for another.',
    option: 'time_zone',
    note: 'zone_assumed',
  },
  ids: {
    rule: 'event_id is the key of an event table. A labelled event is in several tables under the same key, so its name is part of the uuid.',
    sources: [
      'https://fivetran.com/docs/connectors/applications/heap/connector-schema',
      'https://help.heap.io/heap-connect/heap-connect-guide/data-schema',
    ],
  },
  links: {
    rule: "user_id is Heap's own id, identity the argument of identify; user_migrations maps a merged user to the remaining one.",
    sources: [
      'https://help.heap.io/hc/en-us/sections/36055206561425-Heap-Connect-Guide',
      'https://help.heap.io/heap-connect/heap-connect-guide/data-schema',
    ],
  },
  counts: {
    rule: 'Exports are retroactive, tables are refilled, and the tables behind the views (…_raw) may contain a row twice: an identical row is stored once. Only events selected for the sync are exported. Nothing is skipped.',
    sources: [
      'https://help.heap.io/heap-connect/heap-connect-guide/data-schema',
      'https://docs.heapanalytics.com/docs/overview-and-schema-bigquery',
    ],
  },
};

const slug = 'heap';

const names: NameTable = {
  events: { pageview: '$pageview', pageviews: '$pageview' },
  properties: {
    app_name: '$app_name',
    app_version: '$app_version',
    browser: '$browser',
    browser_version: '$browser_version',
    carrier: '$network_carrier',
    city: '$geoip_city_name',
    country: '$geoip_country_name',
    current_url: '$current_url',
    device: '$device_model',
    device_type: '$device_type',
    domain: '$host',
    ip: '$ip',
    landing_page: '$current_url',
    library: '$lib',
    path: '$pathname',
    platform_name: '$os',
    platform_version: '$os_version',
    referrer: '$referrer',
    region: '$geoip_subdivision_1_name',
  },
  person_properties: {
    initial_browser: '$initial_browser',
    initial_browser_version: '$initial_browser_version',
    initial_city: '$initial_geoip_city_name',
    initial_country: '$initial_geoip_country_name',
    initial_device_type: '$initial_device_type',
    initial_landing_page: '$initial_current_url',
    initial_path: '$initial_pathname',
    initial_platform_name: '$initial_os',
    initial_platform_version: '$initial_os_version',
    initial_referrer: '$initial_referrer',
    initial_region: '$initial_geoip_subdivision_1_name',
    initial_utm_campaign: '$initial_utm_campaign',
    initial_utm_content: '$initial_utm_content',
    initial_utm_medium: '$initial_utm_medium',
    initial_utm_source: '$initial_utm_source',
    initial_utm_term: '$initial_utm_term',
  },
};

const about = {
  slug,
  name: 'Heap',
  description:
    'Rows of Heap Connect (the tables of events, pageviews, users and user_migrations) and lines of the one-time ' +
    'JSON export. A row of an event table does not contain the event name: set the option `event` for each ' +
    'table. `platform` is split into `platform_name` and `platform_version` in the name table. ' +
    'The page address consists of domain (with https), path, query and hash if the row has them, ' +
    'else it is landing_page. Users become `$set` at last_modified, their initial properties `$set_once`; identity ' +
    'and user_id are linked.',
  source: 'Heap Connect to a warehouse or bucket, its tables as Avro, CSV, JSON lines or Parquet; or the JSON export.',
  options: [
    {
      key: 'event',
      label: 'Event name',
      description:
        'Name of events whose rows have no event_name, event_table_name, type or object; often the name of the table.',
    },
    assumedZoneOption,
  ],
  times: { own: ['time'], received: [] },
  evidence,
  names,
  example,
};

export const heap: Format = formatByMap(about, ({ options, names, writer }) => {
  const { zone, noted, notes } = assumedZone(options);
  const properties = put(names.properties);
  const nameless = unreadable('expected the name of the event in a column or in the option event');
  const event = nameIn(nameColumns, () => nameless, writer, options['event']);
  return {
    source: slug,
    instead: (row) => {
      if (isMigration(row)) return noted(readMigration(writer, row, zone), row['time']);
      const modified = row['last_modified'] ?? row['joindate'];
      const isUser = idOf(row['time']) === undefined && modified !== undefined;
      return isUser ? noted(readUser(writer, row, zone), modified) : undefined;
    },
    event,
    time: timeIn('time', 'time as ISO 8601 or milliseconds', zone),
    ids: { from: ['identity', 'user_id', 'id'], read: identityOf },
    // A labelled event is in several tables under one id; its name distinguishes the rows.
    uuid: uuidIn(slug, ['event_id'], writer, [{ from: nameColumns, read: (row) => String(event.read(row)) }]),
    order: ['event', 'time', 'names', 'ids'],
    properties: [
      { ...properties, bag: '', without: aboutEvent },
      { of: 'members', from: ['platform'], add: (row, target) => putPlatform(target, 'platform', row, writer.put) },
      { of: 'members', from: addressColumns, isVaried: true, add: (row, target) => putAddress(writer, target, row) },
      { ...properties, bag: 'properties', mayBeText: true, mayBeValue: true },
      ...notes('time'),
    ],
    links: writer.join,
    // Without a given zone, most times need a note.
    ...(options['time_zone'] !== '' && { usual: { lacks: new Set(['from_user_id', 'to_user_id']) } }),
  };
});

const nameColumns = ['event_name', 'event_table_name', 'type', 'object'];
const addressColumns = ['domain', 'path', 'query', 'hash', 'landing_page'];

const isMigration = (row: Json): boolean => row['from_user_id'] !== undefined && row['to_user_id'] !== undefined;

function identityOf(row: Json): Identity | NoEvents {
  const user = personId(row['identity']);
  const device = heapId(row);
  const distinctId = user ?? device;
  if (distinctId === undefined) return unreadable('expected user_id, id or identity, got none');
  return { distinctId, user, device };
}

function readMigration(writer: EventWriter, row: Json, zone: Zone): RecordResult {
  const from = personId(row['from_user_id']);
  const to = personId(row['to_user_id']);
  if (from === undefined || to === undefined) {
    const which = from === undefined ? 'from_user_id' : 'to_user_id';
    return unreadable(`expected an id in ${which}, got ${kindOf(row[which])}`);
  }
  const timestamp = timeOfTextOrMs(row['time'], zone);
  if (timestamp === undefined)
    return unreadable(`expected time as ISO 8601 or milliseconds, got ${kindOfTime(row['time'])}`);
  return imported(writer.join(to, from, timestamp));
}

const userTimes = ['joindate', 'last_modified', 'lastseen', 'identity_time'] as const;
const aboutUser = new Set(['id', 'user_id', 'identity', 'properties', 'initial_platform', ...userTimes]);

function readUser(writer: EventWriter, row: Json, zone: Zone): RecordResult {
  const identity = identityOf(row);
  if ('kind' in identity) return identity;
  const { user, device, distinctId = '' } = identity;
  const times = Object.fromEntries(userTimes.map((column) => [column, timeOfTextOrMs(row[column], zone)]));
  const timestamp = times['last_modified'] ?? times['joindate'];
  if (timestamp === undefined) {
    return unreadable(
      `expected a time in last_modified or joindate, got ${kindOfTimes(row, ['last_modified', 'joindate'])}`,
    );
  }
  const set: Properties = {};
  const once: Properties = {};
  for (const column of Object.keys(row)) {
    if (!aboutUser.has(column)) writer.putPerson(column.startsWith('initial_') ? once : set, column, row[column]);
  }
  for (const column of userTimes) writer.putPerson(column === 'joindate' ? once : set, column, times[column]);
  const own = objectOfJson(row['properties']);
  if (own === undefined) writer.putPerson(set, 'properties', row['properties']);
  else for (const key of Object.keys(own)) writer.putPerson(set, key, own[key]);
  putPlatform(once, 'initial_platform', row, writer.putPerson);
  const since = times['identity_time'] ?? timestamp;
  const identify = user !== undefined && device !== undefined ? writer.join(user, device, since) : [];
  const properties = { $set: set, $set_once: once };
  const idParts = ['profile', distinctId, canonicalJson(properties)];
  return imported([...identify, writer.generated(idParts, '$set', distinctId, timestamp, properties)]);
}

/** Returns Heap's id of the user; the JSON export writes it as `(project,user)`. */
function heapId(row: Json): string | undefined {
  const { id } = row;
  const pair = typeof id === 'string' ? pairPattern.exec(id) : null;
  return personId(row['user_id'], pair === null ? id : pair[1]);
}
const pairPattern = /^\(\d{1,30}, ?(\d{1,30})\)$/;

const aboutEvent: ReadonlySet<string> = new Set(
  `event_id event_name event_table_name id identity landing_page platform properties time type user_id`.split(' '),
);

function putAddress(writer: EventWriter, properties: Properties, row: Json): void {
  const { domain, path, query, hash, landing_page: landing } = row;
  if (typeof domain === 'string' && domain !== '' && typeof path === 'string' && path !== '') {
    writer.put(properties, 'current_url', `https://${domain}${path}${prefixed('?', query)}${prefixed('#', hash)}`);
    if (idOf(landing) !== undefined) properties['landing_page'] = landing;
  } else writer.put(properties, 'landing_page', landing);
}

function prefixed(mark: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') return '';
  return value.startsWith(mark) ? value : `${mark}${value}`;
}

/** Splits `Mac OS X 10.15.7` into name and version. */
function putPlatform(target: Properties, column: string, row: Json, put: EventWriter['put']): void {
  const value = row[column];
  if (typeof value !== 'string') return put(target, column, value);
  const match = value.length > 200 ? null : platformPattern.exec(value);
  put(target, `${column}_name`, match?.[1] ?? value);
  put(target, `${column}_version`, match?.[2]);
}
const platformPattern = /^(\S.*?) +(\d[\w.]*)$/;
