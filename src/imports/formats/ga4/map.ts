import { namespaceOf, partsSeparator } from '../derived-uuids.ts';
import { skipped, unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import type { NameTable } from '../format.ts';
import { namesOf } from '../names.ts';
import {
  personId,
  kindOf,
  idOf,
  asNumber,
  listOf,
  objectOf,
  setMember,
  type Json,
  type Properties,
  valueOfPair,
} from '../read-values.ts';
import { timeOfEpoch } from '../read-times.ts';
import type { Identity, IdPart, RecordMap } from '../record-map.ts';
import { kindOfTime, utc } from '../times.ts';
import { loaderMarks } from '../warehouse-row.ts';
import { exportedRow } from './warehouse.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { isObject } from '../../../base/json.ts';

/** Records of a row to flatten, by the schema of the export. */
const apart =
  `app_info collected_traffic_source device device.web_info ecommerce event_dimensions geo privacy_info publisher
  session_traffic_source_last_click session_traffic_source_last_click.cm360_campaign
  session_traffic_source_last_click.cross_channel_campaign session_traffic_source_last_click.dv360_campaign
  session_traffic_source_last_click.google_ads_campaign session_traffic_source_last_click.manual_campaign
  session_traffic_source_last_click.sa360_campaign traffic_source`.split(/\s+/);

/** Maps rows of the export. `importsAnonymous` includes rows without user and device. */
export function ga4Map(writer: EventWriter, names: NameTable, importsAnonymous: boolean): RecordMap {
  const properties = namesOf(names.properties);
  return {
    source: 'ga4',
    reshape: exportedRow,
    event: {
      from: ['event_name'],
      read: ({ event_name: name }) =>
        typeof name === 'string' && name !== ''
          ? name
          : unreadable(`expected event_name as a text, got ${kindOf(name)}`),
      named: writer.eventName,
    },
    time: {
      form: { path: 'event_timestamp', zone: utc, numbers: utc, unit: 'us' },
      from: ['event_timestamp'],
      read: ({ event_timestamp: micros }) => timeOfEpoch(micros, 'us'),
      otherwise: ({ record }) => {
        const got = kindOfTime(record['event_timestamp']);
        return unreadable(`expected event_timestamp in microseconds since 1970, got ${got}`);
      },
    },
    ids: { from: ['user_id', 'user_pseudo_id'], read: (row) => identityOf(row, importsAnonymous) },
    uuid: {
      is: 'parts',
      namespace: namespaceOf('ga4', idKind),
      parts: idParts(),
      otherwise: ({ record, given }) => idOfRow(writer, record, given),
    },
    order: ['event', 'time', 'names', 'ids'],
    properties: [
      { bag: '', names: properties, without: readApart, nothing: [...unset, []], taken: 'replaces', levels: 4, apart },
      { pairs: 'event_params', names: properties, nothing: unset },
      { of: 'members', from: ['items'], add: ({ items }, found) => addItems(writer, found, items), isVaried: true },
      '$set',
    ],
    person: [
      { pairs: 'user_properties', into: '$set', names: namesOf(names.person_properties), nothing: unset },
      {
        of: 'members',
        from: ['user_first_touch_timestamp', 'user_ltv'],
        add: (row, person) => addLifetime(writer, person, row['user_first_touch_timestamp'], row['user_ltv']),
        isVaried: true,
        into: '$set',
      },
    ],
    links: writer.identify,
    usual: { has: ['event_params'], lacks: loaderMarks },
  };
}

function idParts(): readonly IdPart[] {
  const separator = { text: partsSeparator };
  const parts = [...idColumns, ...placeColumns].flatMap((path): IdPart[] => [{ path }, separator]);
  return [...parts, { path: placeColumn, isNeeded: true }];
}

function identityOf(
  { user_id: userId, user_pseudo_id: pseudoId }: Json,
  importsAnonymous: boolean,
): Identity | NoEvents {
  const user = personId(userId);
  const device = personId(pseudoId);
  const distinctId = user ?? device;
  if (distinctId !== undefined) return { distinctId, user, device };
  return importsAnonymous
    ? { distinctId, isPlaceholderId: true }
    : skipped('neither user_id nor user_pseudo_id: sent without consent');
}

/** First part of row ids. */
const idKind = 'event';
const idColumns: readonly string[] = [
  'stream_id',
  'user_pseudo_id',
  'user_id',
  'event_timestamp',
  'event_name',
  'event_bundle_sequence_id',
];
/** Identify the batch and the row's position in it; older rows lack them. */
const placeColumns: readonly string[] = ['batch_page_id', 'batch_ordering_id'];
const placeColumn = 'batch_event_index';

/** Google never sends two events with the same position in a batch; without a position, two equal rows are two events. */
function idOfRow(writer: EventWriter, row: Json, record: Json): string {
  const idIn = (column: string): string => idOf(row[column]) ?? '';
  const key = [idKind, ...idColumns.map(idIn)];
  const place = idOf(row[placeColumn]);
  if (place !== undefined) return writer.id(...key, ...placeColumns.map(idIn), place);
  // A flattened row has one column per parameter.
  const parameters = row['event_params'] ?? (row === record ? null : row);
  const content = canonicalJson([parameters, row['items'] ?? null]);
  return writer.countedId(...key, content);
}

/** Members of a row that are not copied as properties. */
const readApart: ReadonlySet<string> = new Set(
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

/** Values that represent missing data. */
const unset: readonly unknown[] = [null, '', '(not set)', '(not provided)'];

function putParameter(target: Properties, parameter: unknown, put: EventWriter['put']): void {
  if (!isObject(parameter) || typeof parameter['key'] !== 'string') return;
  const value = valueOfPair(parameter['value']);
  if (isSet(value)) put(target, parameter['key'], value);
}

/** Adds items that were bought, viewed or put into the cart. */
function addItems(writer: EventWriter, properties: Properties, given: unknown): void {
  const items = listOf(given).filter(isObject).map(itemOf);
  if (items.length > 0) writer.put(properties, 'items', items);
}

function itemOf(item: Json): Properties {
  const read: Properties = {};
  for (const key of Object.keys(item)) {
    if (key !== 'item_params' && isSet(item[key])) setMember(read, key, item[key]);
  }
  for (const each of listOf(item['item_params'])) putParameter(read, each, setMember);
  return read;
}

/** Adds the person's first touch (µs since 1970) and lifetime value. */
function addLifetime(writer: EventWriter, person: Properties, firstTouch: unknown, lifetime: unknown): void {
  writer.putPerson(person, 'user_first_touch_timestamp', timeOfEpoch(firstTouch, 'us'));
  for (const [key, value] of Object.entries(objectOf(lifetime))) {
    if (isSet(value)) writer.putPerson(person, `user_ltv_${key}`, asNumber(value));
  }
}

function isSet(value: unknown): boolean {
  return value !== undefined && !unset.includes(value);
}
