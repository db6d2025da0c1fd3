import { isObject } from '../../../base/json.ts';
import { canonicalUuid } from '../../../base/uuids.ts';
import { createEventWriter, imported, leftOut, unreadable, type EventWriter } from '../event-writer.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import type { Format, NameTable, RecordReader, RecordResult } from '../format.ts';
import { assumedZone, assumedZoneOption, type AssumedZone } from '../assumed-zone.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { personId } from '../person-id.ts';
import { readExample } from '../read-example.ts';
import { readObjects } from '../read-objects.ts';
import { readOptions } from '../read-options.ts';
import { timeOfTextOrMs } from '../read-times.ts';
import { firstId, idOf, kindOf, objectOf, objectOfJson, type Json, type Properties } from '../read-values.ts';
import { kindOfTime } from '../times.ts';

const slug = 'june';

const names: NameTable = {
  events: { page: '$pageview', screen: '$screen' },
  properties: {
    context_app_build: '$app_build',
    context_app_name: '$app_name',
    context_app_namespace: '$app_namespace',
    context_app_version: '$app_version',
    context_campaign_content: 'utm_content',
    context_campaign_medium: 'utm_medium',
    context_campaign_name: 'utm_campaign',
    context_campaign_source: 'utm_source',
    context_campaign_term: 'utm_term',
    context_device_id: '$device_id',
    context_device_manufacturer: '$device_manufacturer',
    context_device_model: '$device_model',
    context_device_name: '$device_name',
    context_device_type: '$device_type',
    context_ip: '$ip',
    context_library_name: '$lib',
    context_library_version: '$lib_version',
    context_locale: '$locale',
    context_network_carrier: '$network_carrier',
    context_os_name: '$os',
    context_os_version: '$os_version',
    context_page_path: '$pathname',
    context_page_referrer: '$referrer',
    context_page_search: '$search',
    context_page_title: 'title',
    context_page_url: '$current_url',
    context_screen_height: '$screen_height',
    context_screen_width: '$screen_width',
    context_timezone: '$timezone',
    context_userAgent: '$useragent',
  },
  person_properties: {},
};

export const june: Format = {
  slug,
  name: 'June',
  description:
    'Rows of the CSV export: type, name, user_id, anonymous_id, timestamp, and properties, traits and context as ' +
    'JSON. A row with group_id and traits is a group, one with traits and no name an identified user, any other ' +
    'an event; where type is page or screen, the name stays beside it. A row has no id: its uuid follows from ' +
    'its content.',
  source: 'The CSV files of a workspace export.',
  options: [
    {
      key: 'group_type',
      description: 'The kind of group that companies become.',
      default: 'company',
    },
    assumedZoneOption,
  ],
  times: { own: ['timestamp'], received: [] },
  evidence,
  names,
  example: readExample(example),
  createReader: (given, names, memory) => {
    const options = readOptions(slug, june.options, given);
    return createReader(
      createEventWriter(slug, names, memory),
      options['group_type'] || 'company',
      assumedZone(options),
    );
  },
};

function createReader(writer: EventWriter, groupType: string, { zone, noted }: AssumedZone): RecordReader {
  const read = (row: Json): RecordResult => {
    const timestamp = timeOfTextOrMs(row['timestamp'], zone);
    if (timestamp === undefined) {
      return unreadable(`expected timestamp as ISO 8601 or milliseconds, got ${kindOfTime(row['timestamp'])}`);
    }
    const json = { properties: cell(row, 'properties'), traits: cell(row, 'traits'), context: cell(row, 'context') };
    const broken = Object.entries(json).find(([, value]) => value === undefined);
    if (broken !== undefined)
      return unreadable(`expected ${broken[0]} as a JSON object, got ${kindOf(row[broken[0]])}`);
    const { properties = {}, traits = {}, context = {} } = json;
    const who = { user: personId(row['user_id']), device: personId(row['anonymous_id']) };
    const found: ReadRow = { row, timestamp, properties, traits, context, ...who };
    const kind = kindOfRow(row, traits);
    if (kind === 'group') return readGroup(writer, found, groupType);
    const distinctId = found.user ?? found.device;
    if (distinctId === undefined) return unreadable('expected user_id or anonymous_id, got neither');
    if (kind === 'identify') return readIdentify(writer, found, distinctId);
    return readEvent(writer, found, distinctId, groupType);
  };
  return readObjects((row) => noted(read(row), row['timestamp']));
}

interface ReadRow {
  readonly row: Json;
  readonly timestamp: string;
  readonly properties: Json;
  readonly traits: Json;
  readonly context: Json;
  readonly user: string | undefined;
  readonly device: string | undefined;
}

/** An empty cell is an empty object; undefined: there is something else than an object in it. */
function cell(row: Json, column: string): Json | undefined {
  const value = row[column];
  return value === undefined || value === null || value === '' ? {} : objectOfJson(value);
}

function kindOfRow(row: Json, traits: Json): 'event' | 'identify' | 'group' {
  const { type } = row;
  if (type === 'identify' || type === 'group') return type;
  const hasName = firstId(row['name'], row['event']) !== undefined;
  if (hasName || type === 'track' || type === 'page' || type === 'screen') return 'event';
  if (idOf(row['group_id']) !== undefined) return 'group';
  return Object.keys(traits).length > 0 ? 'identify' : 'event';
}

const columns = new Set([
  'anonymous_id',
  'context',
  'event',
  'group_id',
  'id',
  'message_id',
  'name',
  'properties',
  'timestamp',
  'traits',
  'type',
  'user_id',
]);

function readEvent(writer: EventWriter, read: ReadRow, distinctId: string, groupType: string): RecordResult {
  const { row, timestamp } = read;
  const isPage = row['type'] === 'page' || row['type'] === 'screen';
  const name = firstId(row['name'], row['event']);
  const sourceName = isPage ? String(row['type']) : name;
  if (sourceName === undefined) return unreadable(`expected the name of the event in name, got ${kindOf(row['name'])}`);
  // A tracked event that is called like a kind of row is none.
  const isOwnName = !isPage && Object.hasOwn(names.events, sourceName);
  const event = isOwnName ? sourceName : writer.eventName(sourceName);
  if (event === null) return leftOut(sourceName);
  const properties: Properties = {};
  putContext(writer, properties, 'context', read.context);
  for (const column of Object.keys(row)) if (!columns.has(column)) writer.put(properties, column, row[column]);
  if (isPage) writer.put(properties, row['type'] === 'page' ? 'name' : '$screen_name', name);
  writer.putAll(properties, read.properties);
  const group = firstId(row['group_id'], read.context['groupId']);
  if (group !== undefined) properties['$groups'] = { [groupType]: group };
  const traits = personOf(writer, { ...objectOf(read.context['traits']), ...read.traits });
  if (Object.keys(traits).length > 0) properties['$set'] = traits;
  return imported([
    ...identify(writer, read),
    writer.event(uuidOf(writer, row), event, distinctId, timestamp, properties),
  ]);
}

function readIdentify(writer: EventWriter, read: ReadRow, distinctId: string): RecordResult {
  const person = personOf(writer, read.traits);
  const known = identify(writer, read);
  if (Object.keys(person).length === 0) return imported(known);
  const idParts = ['profile', distinctId, canonicalJson(person)];
  return imported([...known, writer.generated(idParts, '$set', distinctId, read.timestamp, { $set: person })]);
}

function readGroup(writer: EventWriter, read: ReadRow, groupType: string): RecordResult {
  const key = idOf(read.row['group_id']);
  if (key === undefined) return unreadable(`expected group_id, got ${kindOf(read.row['group_id'])}`);
  const { traits } = read;
  const properties = {
    $group_type: groupType,
    $group_key: key,
    $group_set: traits,
    $groups: { [groupType]: key },
  };
  const distinctId = read.user ?? read.device ?? `${groupType}_${key}`;
  const idParts = ['group', groupType, key, distinctId, canonicalJson(traits)];
  const event = writer.generated(idParts, '$groupidentify', distinctId, read.timestamp, properties);
  return imported([...identify(writer, read), event]);
}

function identify(writer: EventWriter, { user, device, timestamp }: ReadRow): ReturnType<EventWriter['identify']> {
  return user !== undefined && device !== undefined ? writer.identify(user, device, timestamp) : [];
}

function uuidOf(writer: EventWriter, row: Json): string {
  const id = firstId(row['message_id'], row['id']);
  if (id === undefined) return writer.contentId(row);
  return canonicalUuid(id) ?? writer.id('event', id);
}

function personOf(writer: EventWriter, traits: Json): Properties {
  const person: Properties = {};
  for (const key of Object.keys(traits)) writer.putPerson(person, key, traits[key]);
  return person;
}

/** `{page: {url}}` as `context_page_url`, two levels deep. Traits and the group have places of their own. */
function putContext(writer: EventWriter, target: Properties, name: string, value: Json, levels = 2): void {
  for (const key of Object.keys(value)) {
    if (levels === 2 && (key === 'traits' || key === 'groupId')) continue;
    const member = value[key];
    if (isObject(member) && levels > 1) putContext(writer, target, `${name}_${key}`, member, levels - 1);
    else writer.put(target, `${name}_${key}`, member);
  }
}
