import { isObject } from '../../../base/json.ts';
import { derivedId } from '../../../base/ids.ts';
import { isNobody } from '../../../base/nobody-ids.ts';
import type { WireEvent } from '../../../contract/wire-event.ts';
import { leftOut } from '../event-writer.ts';
import type { Format, FormatOptions, NameTable, RecordReader, RecordResult } from '../format.ts';
import { namesOf, rename } from '../names.ts';
import type { IdCounter } from '../occurrences.ts';
import { withPlain } from '../plain-table.ts';
import { createReaderMemory } from '../reader-memory.ts';
import { readExample } from '../read-example.ts';
import { readOptions } from '../read-options.ts';
import type { FoundNote } from '../record-notes.ts';
import { readObjects } from '../read-objects.ts';
import { contextPaths } from './context.ts';
import { pageEvent, screenEvent } from './event-names.ts';
import { messageIdParts } from './message-id.ts';
import { unwrapped } from './envelope.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { messageIds, type MessageIds } from './message-ids.ts';
import { timeOfMessage, timeFields } from './message-time.ts';
import { kindOfTimes } from '../times.ts';
import { hostOf, textOf } from './message-values.ts';
import { segmentPlain } from './plain.ts';
import { isWarehouseRow, messageOfRow, warehouseTables } from './warehouse.ts';

export type FormatResult =
  | { readonly kind: 'event'; readonly event: WireEvent; readonly notes?: readonly FoundNote[] }
  /** A repetition of an earlier message, left out because that was asked for. */
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** Why a message is left out that `duplicates: drop` takes for a repetition. */
export const repeatedMessage = 'a messageId that came before';

/**
 * Messages of Segment and RudderStack (`track`, `identify`, `page`, `screen`, `group`, `alias`) as events.
 *
 * - The time of an event is `timestamp`; only where it is missing, it follows from `originalTimestamp`, `sentAt` and `receivedAt`
 *   (message-time.ts).
 * - distinct_id is `userId`, else `anonymousId`; an id that means nobody is passed over.
 * - The uuid follows from `messageId` and its occurrence in the file, so a file sent again changes nothing, and of an
 *   archive in which a messageId comes several times every line is kept.
 */
export const segment: Format = {
  slug: 'segment',
  name: 'Segment and RudderStack',
  description:
    'The messages track, identify, page, screen, group and alias, with what their context says. distinct_id is userId, else ' +
    'anonymousId; the uuid follows from messageId. The time is `timestamp`; messages without one, as a gateway has them, get ' +
    '`originalTimestamp` corrected by `sentAt` and `receivedAt`. Names in the table are those of the finished event.',
  source:
    'The raw archive in a destination’s bucket: one JSON message per line, gzipped. Or tables of the warehouse: tracks, ' +
    'those of single events, pages, screens, identifies, groups, aliases, users. Of RudderStack also its archived jobs and ' +
    'staging files.',
  options: [
    {
      key: 'duplicates',
      description:
        'What to do with a message whose messageId came before: keep it under an id of its own, or leave it out',
      default: 'keep',
      choices: ['keep', 'drop'],
    },
    {
      key: 'table',
      description:
        'Of rows of a warehouse, the table that they come from. `auto` knows tracks, the tables of single events, pages, ' +
        'groups and aliases by their columns',
      default: 'auto',
      choices: warehouseTables,
    },
  ],
  times: { own: ['timestamp', 'originalTimestamp', 'receivedAt', 'sentAt'], received: ['receivedAt', 'received_at'] },
  evidence,
  names: { events: {}, properties: {}, person_properties: {} },
  example: readExample(example),
  createReader,
};

function createReader(given: FormatOptions, names: NameTable, memory = createReaderMemory()): RecordReader {
  const options = readOptions('segment', segment.options, given);
  const duplicates = options['duplicates'] === 'drop' ? 'drop' : 'keep';
  const occurrences = memory.occurrences('run');
  const read = createSegmentReader(duplicates, occurrences, memory.occurrences('file'));
  // In a warehouse the id of a message stands once in a table: another row of it is of the table of all events beside it.
  const readRow = createSegmentReader('drop', memory.occurrences('run'), memory.occurrences('file'));
  const translate = createTranslation(names);
  const table = options['table'] ?? 'auto';
  const readMessage = (message: Json, from: 'archive' | 'warehouse'): RecordResult =>
    resultOf(from === 'archive' ? read(message) : readRow(message), translate);
  const readRecord = readObjects((record) => {
    const content = unwrapped(record);
    if (content?.kind === 'messages') return readJob(content.messages, (message) => readMessage(message, 'archive'));
    const row = content?.row ?? (isWarehouseRow(record) ? record : undefined);
    if (row === undefined) return readMessage(record, 'archive');
    const found = messageOfRow(row, tableOf(content?.table, table));
    return found.kind === 'message' ? readMessage(found.message, 'warehouse') : found;
  });
  // The table knows neither other names nor how to leave out what came before.
  const isPlain = duplicates === 'keep' && Object.values(names).every((part) => Object.keys(part).length === 0);
  return isPlain ? withPlain(readRecord, segmentPlain(occurrences)) : readRecord;
}

/** Tables of single events are called like the event. */
function tableOf(named: string | undefined, chosen: string): string {
  return named === undefined ? chosen : warehouseTables.includes(named) ? named : 'tracks';
}

/** All messages of a job, or none: nothing may be remembered of one that is refused. */
function readJob(messages: readonly Json[], read: (message: Json) => RecordResult): RecordResult {
  const bad = messages.map(mapSegmentMessage).find((mapped) => typeof mapped === 'string');
  if (bad !== undefined) return { kind: 'unreadable', reason: bad };
  const results = messages.map(read);
  const events = results.flatMap((result) => (result.kind === 'events' ? result.events : []));
  const notes = results.flatMap((result) => result.notes ?? []);
  if (events.length === 0) return results[0] ?? { kind: 'events', events };
  return { kind: 'events', events, ...(notes.length > 0 && { notes }) };
}

function resultOf(result: FormatResult, translate: (event: WireEvent) => WireEvent | undefined): RecordResult {
  if (result.kind === 'unreadable') return result;
  if (result.kind === 'duplicate') return { kind: 'skipped', reason: repeatedMessage };
  const event = translate(result.event);
  if (event === undefined) return leftOut(result.event.event);
  return { kind: 'events', events: [event], ...(result.notes && { notes: result.notes }) };
}

/** Without a table the event itself, untouched. */
function createTranslation(names: NameTable): (event: WireEvent) => WireEvent | undefined {
  const events = namesOf(names.events);
  const properties = namesOf(names.properties);
  const person = namesOf(names.person_properties);
  if (events.size + properties.size + person.size === 0) return (event) => event;
  return (event) => {
    const name = events.get(event.event);
    if (name === null) return undefined;
    const translated: Record<string, unknown> = {};
    rename(event.properties, properties, translated);
    if (isObject(translated['$set'])) {
      const set: Record<string, unknown> = {};
      rename(translated['$set'], person, set);
      translated['$set'] = set;
    }
    return { ...event, event: name ?? event.event, properties: translated };
  };
}

/** Less than that is the way to the server. */
const skewNotedMs = 60_000;

/** Converts one message after the other; `duplicates` says what to do with the second message of the same messageId. */
export function createSegmentReader(
  duplicates: 'keep' | 'drop',
  occurrences: IdCounter = createReaderMemory().occurrences('run'),
  contents: IdCounter = createReaderMemory().occurrences('file'),
): (message: unknown) => FormatResult {
  return (message) => {
    const mapped = mapSegmentMessage(message);
    if (typeof mapped === 'string') return { kind: 'unreadable', reason: mapped };
    const first = derivedId(...mapped.idParts);
    const occurrence = (mapped.hasId ? occurrences : contents).next(first);
    if (occurrence > 1 && duplicates === 'drop') return { kind: 'duplicate' };
    const uuid = occurrence === 1 ? first : derivedId(...mapped.idParts, String(occurrence));
    const event = { uuid, ...mapped.event };
    if (Math.abs(mapped.correctedMs) < skewNotedMs) return { kind: 'event', event };
    return { kind: 'event', event, notes: [{ of: 'segment_clock_corrected', sample: event.timestamp }] };
  };
}

type Json = Readonly<Record<string, unknown>>;

interface MappedMessage {
  readonly idParts: readonly string[];
  /** Of its own; else its id follows from its content. */
  readonly hasId: boolean;
  readonly event: Omit<WireEvent, 'uuid'>;
  readonly correctedMs: number;
}

/** What the message says, or one sentence about why it cannot become an event. */
function mapSegmentMessage(message: unknown): MappedMessage | string {
  if (!isObject(message)) return 'expected a JSON object';
  const body = bodyOf(message);
  if (typeof body === 'string') return body;
  const ids = messageIds(message['userId'], message['anonymousId']);
  if (ids === undefined) return 'expected userId or anonymousId';
  const time = timeOfMessage(message);
  if (time === undefined) return `expected a timestamp, got ${kindOfTimes(message, timeFields)}`;
  const messageId = textOf(message['messageId']);
  const idParts =
    messageId === undefined ? ['segment-content', JSON.stringify(message)] : [...messageIdParts, messageId];
  const properties = { ...contextProperties(message, ids), ...body.properties };
  const event = { event: body.event, distinct_id: ids.distinctId, timestamp: time.text, properties };
  return { idParts, hasId: messageId !== undefined, event, correctedMs: time.correctedMs };
}

/** Name and own properties of the event, by type of message. */
function bodyOf(message: Json): { event: string; properties: Json } | string {
  const properties = objectOf(message['properties']);
  const traits = { ...personTraits(message), ...objectOf(message['traits']) };
  const set = setOf(traits);
  switch (message['type']) {
    case 'track': {
      const event = textOf(message['event']);
      return event === undefined
        ? 'expected the name of the event in "event"'
        : { event, properties: { ...set, ...properties } };
    }
    case 'page':
      return { event: pageEvent, properties: { ...set, ...given(message, 'category', 'name'), ...properties } };
    case 'screen': {
      const screen = textOf(message['name']) ?? textOf(properties['name']);
      const name = screen === undefined ? {} : { $screen_name: screen };
      return { event: screenEvent, properties: { ...set, ...given(message, 'category'), ...name, ...properties } };
    }
    case 'identify':
      return { event: '$identify', properties: { $set: traits } };
    case 'alias': {
      const alias = textOf(message['previousId']);
      return alias === undefined
        ? 'expected previousId'
        : {
            event: '$create_alias',
            properties: { ...setOf(personTraits(message)), ...(!isNobody(alias) && { alias }) },
          };
    }
    case 'group':
      return groupBody(message);
    default:
      return `expected type track, identify, page, screen, group or alias, got: ${JSON.stringify(message['type'])}`;
  }
}

/** Whatever the message is about, the traits of its context are those of the person. */
function personTraits(message: Json): Json {
  return objectOf(at(message, 'context.traits'));
}

function setOf(traits: Json): Json {
  return Object.keys(traits).length > 0 ? { $set: traits } : {};
}

/** The type of the group is the trait `groupType`; sources without one have a single kind of group, called `group`. */
function groupBody(message: Json): { event: string; properties: Json } | string {
  const key = textOf(message['groupId']);
  if (key === undefined) return 'expected groupId';
  const { groupType, ...traits } = objectOf(message['traits']);
  const type = textOf(groupType) ?? 'group';
  const group = { $group_type: type, $group_key: key, $group_set: traits, $groups: { [type]: key } };
  const properties = { ...setOf(personTraits(message)), ...group };
  return { event: '$groupidentify', properties };
}

function contextProperties(message: Json, { anonymousId }: MessageIds): Json {
  const found: Record<string, unknown> = {};
  for (const [property, path] of Object.entries(contextPaths)) {
    const value = at(message, path);
    if (value !== undefined && value !== null) found[property] = value;
  }
  const host = hostOf(found['$current_url']);
  if (host !== undefined) found['$host'] = host;
  const ip = textOf(at(message, 'context.ip')) ?? textOf(message['request_ip']);
  if (ip !== undefined) found['$ip'] = ip;
  if (anonymousId !== undefined) found['$anon_distinct_id'] = anonymousId;
  return found;
}

function given(message: Json, ...keys: readonly string[]): Json {
  return Object.fromEntries(keys.flatMap((key) => (textOf(message[key]) === undefined ? [] : [[key, message[key]]])));
}

function at(value: unknown, path: string): unknown {
  let current = value;
  for (const key of path.split('.')) {
    if (!isObject(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return current;
}

function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}
