import { canonicalJson } from '../../base/canonical-json.ts';
import { fastId, namespaceOf } from './derived-uuids.ts';
import type { NameTable, RecordResult } from './format.ts';
import type { ContentUuid } from './record-map.ts';
import type { IdCounter } from './occurrences.ts';
import { createReaderMemory, type Links, type ReaderMemory } from './reader-memory.ts';
import { setMember, type Json, type Properties } from './read-values.ts';
import { settleProperties } from './settle-properties.ts';
import { identityProperty, type WireEvent } from '../../wire/contract/wire-event.ts';

/**
 * What every reader does with what it has read: translates names, derives ids, marks events as imported, and says once
 * that a device belongs to a user. One writer per reader, because it remembers.
 */
export interface EventWriter {
  /** The name of the event by the table; null: left out. */
  eventName(sourceName: string): string | null;
  /** Writes a property under its translated name, unless it is empty or left out by the table. */
  put(target: Properties, sourceName: string, value: unknown): void;
  putAll(target: Properties, source: Json): void;
  /** The same with the table of person properties. */
  putPerson(target: Properties, sourceName: string, value: unknown): void;
  /** An event of the source. `properties` becomes part of it. */
  event(uuid: string, event: string, distinctId: string, timestamp: string, properties: Properties): WireEvent;
  /** An event that the source does not have as such; its id follows from what it says. */
  generated(
    idParts: readonly string[],
    event: string,
    distinctId: string,
    timestamp: string,
    properties: Properties,
  ): WireEvent;
  /**
   * A device has this user: `$identify` at the first call with this pair, and at later ones with an earlier time, of which the check keeps
   * the earliest.
   */
  identify(user: string, device: string, timestamp: string): readonly WireEvent[];
  /** The same of two ids that the source itself has made one person: `before` is no device. */
  join(user: string, before: string, timestamp: string): readonly WireEvent[];
  /** The id of a record that has one of its own. */
  id(...parts: readonly string[]): string;
  /** An id that stays apart from the earlier ones of the same parts in the file: for records that have no id of their own. */
  countedId(...parts: readonly string[]): string;
  /** The counted id of a record by its content. */
  contentId(record: unknown): string;
  /** What `contentId` does, for a map. */
  readonly contentUuid: ContentUuid;
}

/** Devices whose last user is known without deriving an id; all pairs are remembered in less memory. */
const recentMax = 50_000;

export function createEventWriter(slug: string, names: NameTable, memory = createReaderMemory()): EventWriter {
  const eventNames = new Map(Object.entries(names.events));
  const writer: Omit<EventWriter, 'identify' | 'join' | 'put' | 'putAll' | 'putPerson'> = {
    eventName: (sourceName) => {
      const name = eventNames.get(sourceName);
      return name === undefined ? sourceName : name;
    },
    event: (uuid, event, distinctId, timestamp, properties) => {
      settleProperties(properties);
      return marked(slug, uuid, event, distinctId, timestamp, properties);
    },
    generated: (idParts, event, distinctId, timestamp, properties) =>
      marked(slug, fastId(slug, ...idParts), event, distinctId, timestamp, properties),
    id: (...parts) => fastId(slug, ...parts),
    ...createCountedIds(slug, memory),
  };
  return {
    ...writer,
    ...createPutters(names),
    identify: createIdentify(writer, memory.links, {}),
    join: createIdentify(writer, memory.links, { [identityProperty]: 'joined' }),
  };
}

function marked(
  slug: string,
  uuid: string,
  event: string,
  distinctId: string,
  timestamp: string,
  properties: Properties,
): WireEvent {
  properties['$geoip_disable'] = true;
  properties['$import_source'] = slug;
  return { uuid, event, distinct_id: distinctId, timestamp, properties };
}

function createPutters(names: NameTable): Pick<EventWriter, 'put' | 'putAll' | 'putPerson'> {
  const putter = (table: Readonly<Record<string, string | null>>): EventWriter['put'] => {
    const translated = new Map(Object.entries(table));
    return (target, sourceName, value) => {
      if (value === undefined || value === null || value === '') return;
      const name = translated.get(sourceName);
      if (name !== null) setMember(target, name ?? sourceName, value);
    };
  };
  const put = putter(names.properties);
  return {
    put,
    putAll: (target, source) => {
      for (const key of Object.keys(source)) put(target, key, source[key]);
    },
    putPerson: putter(names.person_properties),
  };
}

function createCountedIds(
  slug: string,
  memory: ReaderMemory,
): Pick<EventWriter, 'countedId' | 'contentId' | 'contentUuid'> {
  const contentKind = `${slug}-content`;
  const occurrences = memory.occurrences('file');
  const counted = (counter: IdCounter, parts: readonly string[]): string => {
    const first = fastId(...parts);
    const occurrence = counter.next(first);
    return occurrence === 1 ? first : fastId(...parts, String(occurrence));
  };
  return {
    countedId: (...parts) => counted(occurrences, [slug, ...parts]),
    contentId: (record) => counted(occurrences, [contentKind, canonicalJson(record)]),
    contentUuid: { is: 'content', namespace: namespaceOf(contentKind), occurrences },
  };
}

function createIdentify(
  writer: Pick<EventWriter, 'generated'>,
  links: Links,
  marks: Properties,
): EventWriter['identify'] {
  const recent = new Map<string, { readonly user: string; readonly timestamp: string }>();
  return (user, device, timestamp) => {
    if (user === device) return [];
    const known = recent.get(device);
    if (known?.user === user && !isEarlier(timestamp, known.timestamp)) return [];
    const properties = { $anon_distinct_id: device, ...marks };
    const event = writer.generated(['identify', device, user], '$identify', user, timestamp, properties);
    const isNew = links.isNew(event.uuid, microsOf(timestamp));
    if (links.has(event.uuid)) {
      if (recent.size >= recentMax) recent.clear();
      recent.set(device, { user, timestamp });
    }
    return isNew ? [event] : [];
  };
}

/** Texts of one form need not be read. */
function isEarlier(timestamp: string, than: string): boolean {
  if (timestamp.length === than.length && timestamp.endsWith('Z') && than.endsWith('Z')) return timestamp < than;
  return (microsOf(timestamp) ?? Infinity) < (microsOf(than) ?? Infinity);
}

/** Exact to the millisecond, which is enough to find the earliest. Undefined: it cannot be read. */
function microsOf(timestamp: string): number | undefined {
  const ms = Date.parse(timestamp);
  return Number.isNaN(ms) ? undefined : ms * 1000;
}

export const imported = (events: readonly WireEvent[]): RecordResult => ({ kind: 'events', events });
/** A record of which no event comes. */
export type NoEvents = Exclude<RecordResult, { kind: 'events' }>;

export const skipped = (reason: string): NoEvents => ({ kind: 'skipped', reason });
export const unreadable = (reason: string): NoEvents => ({ kind: 'unreadable', reason });

/** An event whose name the table of names leaves out. */
export const leftOut = (sourceName: string): NoEvents => skipped(leftOutReason(sourceName));

export const leftOutReason = (sourceName: string): string =>
  `the table of names leaves out events called ${sourceName.slice(0, 200)}`;
