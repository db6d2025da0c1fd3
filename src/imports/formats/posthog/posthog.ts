import { createReaderMemory, type Links } from '../reader-memory.ts';
import { isObject } from '../../../base/json.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { isNobody } from '../../../base/nobody-ids.ts';
import { profileEvents } from '../../../contract/profile-events.ts';
import { canonicalUuid } from '../../../base/uuids.ts';
import { createEventWriter, imported, leftOut, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, FormatOptions, NameTable, RecordReader, RecordResult } from '../format.ts';
import { namesOf, rename, type Names } from '../names.ts';
import { addElements } from './elements.ts';
import { createGroupReader, groupTypesOf, isGroup } from './groups.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { posthogPlain, type PosthogPlain } from './plain.ts';
import { withPlain } from '../plain-table.ts';
import { readExample } from '../read-example.ts';
import { readOptions } from '../read-options.ts';
import { idOf, kindOf, objectOfJson, setMember, type Json, type Properties } from '../read-values.ts';
import { readObjects } from '../read-objects.ts';
import { anyTime, kindOfTime, kindOfTimes, zoneOption } from '../times.ts';

export const posthog: Format = {
  slug: 'posthog',
  name: 'PostHog',
  description:
    'Events as they are captured, as batch exports write them and as the events API gives them; persons as batch exports ' +
    'write them; groups as their table and API have them. Ids, times and properties stay; elements_chain becomes `$elements_chain`. In the table of names, ' +
    '`column:x` is the column x of an export.',
  source:
    'Lines of `{event, distinct_id, properties, timestamp}`, batch exports of events and persons (JSON lines, or rows of ' +
    'Parquet as objects), results of the events API and the groups API, rows of the table of groups.',
  options: [
    {
      key: 'person_properties',
      description: 'What becomes of the person’s properties beside an exported event: `$set`, or nothing',
      default: 'set',
      choices: ['set', 'ignore'],
    },
    {
      key: 'link_persons',
      description:
        'Whether the distinct ids of one exported person are joined again, by the id of the person as one more distinct id',
      default: 'yes',
      choices: ['yes', 'no'],
    },
    {
      key: 'group_types',
      description:
        'Types of the groups by their index, for groups that say the index only, e.g. `0:company,1:team`; the groups API of the ' +
        'project lists them',
    },
    { key: 'time_zone', description: 'Zone of times that are written without one', default: 'UTC' },
  ],
  times: { own: ['timestamp'], received: ['created_at', '_inserted_at', 'inserted_at'] },
  evidence,
  names: {
    events: {},
    properties: {
      'column:_inserted_at': null,
      'column:created_at': null,
      'column:historical_migration': null,
      'column:inserted_at': null,
      'column:ip': '$ip',
      'column:now': null,
      'column:offset': null,
      'column:sent_at': null,
      'column:site_url': null,
      'column:team_id': null,
      'column:token': null,
    },
    person_properties: {},
  },
  example: readExample(example),
  createReader,
};

interface Context extends PosthogPlain {
  /** Links that were made already; undefined: none are made. */
  readonly links: Links | undefined;
}

function createReader(given: FormatOptions, names: NameTable, memory = createReaderMemory()): RecordReader {
  const options = readOptions('posthog', posthog.options, given);
  const context: Context = {
    writer: createEventWriter('posthog', names, memory),
    properties: namesOf(names.properties),
    person: namesOf(names.person_properties),
    columns: columnNames(names),
    zone: zoneOption('time_zone', options['time_zone'] ?? 'UTC'),
    setsPerson: options['person_properties'] === 'set',
    links: options['link_persons'] === 'yes' ? memory.links : undefined,
  };
  const readGroup = createGroupReader(context.writer, groupTypesOf(options['group_types'] ?? ''), context.zone);
  const read = readObjects((record) => {
    if (isPerson(record)) return readPerson(record, context);
    return isGroup(record) ? readGroup(record) : readEvent(record, context);
  });
  const plain = posthogPlain(context);
  return plain === undefined ? read : withPlain(read, plain);
}

/** Read by code of their own, or left out: `person` of the events API is the person of today, not of the event. */
const ownColumns = [
  'event',
  'distinct_id',
  'uuid',
  'id',
  'timestamp',
  'properties',
  'person_properties',
  'elements',
].concat(['elements_chain', 'person', '$set', '$set_once', '$unset', 'api_key']);

function columnNames(names: NameTable): Names {
  const columns = new Map<string, string | null>(ownColumns.map((column) => [column, null]));
  for (const [key, name] of Object.entries(names.properties)) {
    if (key.startsWith('column:')) columns.set(key.slice('column:'.length), name);
  }
  return columns;
}

function isPerson(record: Json): boolean {
  return record['event'] === undefined && record['person_id'] !== undefined && record['distinct_id'] !== undefined;
}

function readEvent(record: Json, context: Context): RecordResult {
  const name = idOf(record['event']);
  if (name === undefined)
    return unreadable(`expected the name of the event in "event", got ${kindOf(record['event'])}`);
  const source = objectOfJson(record['properties'] ?? {});
  if (source === undefined) {
    return unreadable(`expected properties to be an object or its JSON, got ${kindOf(record['properties'])}`);
  }
  const distinctId = idOf(record['distinct_id']) ?? idOf(source['distinct_id']) ?? idOf(source['$distinct_id']);
  if (distinctId === undefined) return unreadable('expected distinct_id, in the record or its properties');
  const timestamp = anyTime(record['timestamp'], context.zone);
  if (timestamp === undefined)
    return unreadable(`expected a time in timestamp, got ${kindOfTime(record['timestamp'])}`);
  const event = context.writer.eventName(name);
  if (event === null) return leftOut(name);
  const properties: Properties = {};
  rename(source, context.properties, properties);
  addColumns(record, properties, context.columns);
  addElements(record, properties);
  addPerson(record, properties, context);
  // Many share such an id, so it makes no person; the pipeline refuses links by it.
  if (isNobody(distinctId) && !profileEvents.has(event)) properties['$process_person_profile'] = false;
  const uuid = uuidOf(record, context.writer);
  properties['$geoip_disable'] = true;
  properties['$import_source'] = 'posthog';
  // Not through the writer: what PostHog has stored is settled already.
  return imported([{ uuid, event, distinct_id: distinctId, timestamp, properties }]);
}

function uuidOf(record: Json, writer: EventWriter): string {
  const id = record['id'];
  const own = canonicalUuid(record['uuid']) ?? canonicalUuid(id);
  if (own !== undefined) return own;
  const text = idOf(record['uuid']) ?? idOf(id);
  if (text !== undefined) return writer.id(text);
  return writer.contentId(record) ?? writer.id(JSON.stringify(record));
}

function addColumns(record: Json, properties: Properties, columns: Names): void {
  for (const column of Object.keys(record)) {
    const value = record[column];
    const name = columns.get(column);
    if (value === null || value === '' || value === undefined || name === null) continue;
    const wanted = name ?? column;
    setMember(properties, Object.hasOwn(properties, wanted) ? `posthog_${column}` : wanted, value);
  }
}

/** What stands beside the properties wins over what stands in them, as in capture. */
function addPerson(record: Json, properties: Properties, { setsPerson, person }: Context): void {
  const beside = setsPerson ? objectOfJson(record['person_properties'] ?? undefined) : undefined;
  const set = { ...beside, ...objectAt(properties, '$set'), ...objectAt(record, '$set') };
  const setOnce = { ...objectAt(properties, '$set_once'), ...objectAt(record, '$set_once') };
  if (Object.keys(set).length > 0) properties['$set'] = renamed(set, person);
  if (Object.keys(setOnce).length > 0) properties['$set_once'] = renamed(setOnce, person);
  if (record['$unset'] !== undefined && record['$unset'] !== null) properties['$unset'] ??= record['$unset'];
}

function objectAt(source: Json, key: string): Json | undefined {
  const value = source[key];
  return isObject(value) ? value : undefined;
}

function renamed(source: Json, names: Names): Json {
  if (names.size === 0) return source;
  const target: Properties = {};
  rename(source, names, target);
  return target;
}

/**
 * A person of a batch export: one record per distinct id. The id of the person, which all its records share, joins them
 * whatever their order and however they are spread over files.
 */
function readPerson(record: Json, { writer, person, zone, links }: Context): RecordResult {
  const distinctId = idOf(record['distinct_id']);
  const personId = idOf(record['person_id']);
  if (distinctId === undefined) return unreadable(`expected distinct_id, got ${kindOf(record['distinct_id'])}`);
  if (personId === undefined) return unreadable(`expected person_id, got ${kindOf(record['person_id'])}`);
  const deleted = record['is_deleted'];
  if (deleted === true || deleted === 1 || deleted === 'true') return { kind: 'skipped', reason: 'a deleted person' };
  const source = objectOfJson(record['properties'] ?? {});
  if (source === undefined) {
    return unreadable(`expected properties to be an object or its JSON, got ${kindOf(record['properties'])}`);
  }
  const created = anyTime(record['created_at'], zone);
  const written = anyTime(record['_inserted_at'], zone) ?? created;
  if (written === undefined) {
    return unreadable(
      `expected a time in created_at or _inserted_at, got ${kindOfTimes(record, ['created_at', '_inserted_at'])}`,
    );
  }
  const set = renamed(source, person);
  const since = created ?? written;
  const link = writer.generated(['$merge_dangerously', distinctId, personId], '$merge_dangerously', distinctId, since, {
    alias: personId,
  });
  const isLink = distinctId !== personId && !isNobody(distinctId) && !isNobody(personId);
  const isNew = links !== undefined && isLink && links.isNew(link.uuid, Date.parse(since) * 1000);
  return imported([
    ...(isNew ? [link] : []),
    writer.generated(['$set', distinctId, canonicalJson(set) ?? ''], '$set', distinctId, written, { $set: set }),
  ]);
}
