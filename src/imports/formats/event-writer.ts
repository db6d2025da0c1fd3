import { canonicalJson } from '../../base/canonical-json.ts';
import { fastId, namespaceOf } from './derived-uuids.ts';
import type { NameTable, RecordResult } from './format.ts';
import type { ContentUuid } from './record-map.ts';
import type { IdCounter } from './occurrences.ts';
import { createReaderMemory, type Links, type ReaderMemory } from './reader-memory.ts';
import { setMember, type Json, type Properties } from './read-values.ts';
import { normaliseProperties } from './normalise-properties.ts';
import { identityProperty, type WireEvent } from '../../wire/contract/wire-event.ts';

/**
 * Steps shared by all readers: translates names, derives ids, marks events as imported, and links each device to its user once.
 * Each reader has its own writer, because a writer keeps state.
 */
export interface EventWriter {
  /** Returns the name of an event by the name table; null skips the event. */
  eventName(sourceName: string): string | null;
  /** Writes a property under its translated name, unless it is empty or the table drops it. */
  put(target: Properties, sourceName: string, value: unknown): void;
  putAll(target: Properties, source: Json): void;
  /** Like `put`, with the table of person properties. */
  putPerson(target: Properties, sourceName: string, value: unknown): void;
  /** Returns an event of the source. `properties` becomes part of it. */
  event(uuid: string, event: string, distinctId: string, timestamp: string, properties: Properties): WireEvent;
  /** Returns an event that does not exist in the source; its id is derived from `idParts`. */
  generated(
    idParts: readonly string[],
    event: string,
    distinctId: string,
    timestamp: string,
    properties: Properties,
  ): WireEvent;
  /**
   * Links a device to a user: returns an `$identify` at the first call with this pair, and at later calls with an earlier time.
   * The check keeps the earliest.
   */
  identify(user: string, device: string, timestamp: string): readonly WireEvent[];
  /** Like `identify`, for two ids that the source itself has merged; `before` is not a device. */
  join(user: string, before: string, timestamp: string): readonly WireEvent[];
  /** Returns the id of an event whose record has an id. */
  id(...parts: readonly string[]): string;
  /** Returns an id that differs from earlier ones with the same parts in the file, for records without an id. */
  countedId(...parts: readonly string[]): string;
  /** Returns the counted id of a record by its content. */
  contentId(record: unknown): string;
  /** `contentId` as a rule of a map. */
  readonly contentUuid: ContentUuid;
}

/** Devices whose latest user is remembered, which avoids deriving an id; all pairs are also remembered in less memory. */
const recentMax = 50_000;

export function createEventWriter(slug: string, names: NameTable, memory = createReaderMemory()): EventWriter {
  const eventNames = new Map(Object.entries(names.events));
  const writer: Omit<EventWriter, 'identify' | 'join' | 'put' | 'putAll' | 'putPerson'> = {
    eventName: (sourceName) => {
      const name = eventNames.get(sourceName);
      return name === undefined ? sourceName : name;
    },
    event: (uuid, event, distinctId, timestamp, properties) => {
      normaliseProperties(properties);
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
    const last = recent.get(device);
    if (last?.user === user && !isEarlier(timestamp, last.timestamp)) return [];
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

/** Texts in the same form compare without parsing. */
function isEarlier(timestamp: string, than: string): boolean {
  if (timestamp.length === than.length && timestamp.endsWith('Z') && than.endsWith('Z')) return timestamp < than;
  return (microsOf(timestamp) ?? Infinity) < (microsOf(than) ?? Infinity);
}

/** Millisecond precision is enough to find the earliest. Returns `undefined` if the text cannot be parsed. */
function microsOf(timestamp: string): number | undefined {
  const ms = Date.parse(timestamp);
  return Number.isNaN(ms) ? undefined : ms * 1000;
}

export const imported = (events: readonly WireEvent[]): RecordResult => ({ kind: 'events', events });
/** The result of a record without events. */
export type NoEvents = Exclude<RecordResult, { kind: 'events' }>;

export const skipped = (reason: string): NoEvents => ({ kind: 'skipped', reason });
export const unreadable = (reason: string): NoEvents => ({ kind: 'unreadable', reason });

/** The result for an event that the name table skips. */
export const skippedByName = (sourceName: string): NoEvents => skipped(skippedNameReason(sourceName));

export const skippedNameReason = (sourceName: string): string =>
  `the name table skips events called ${sourceName.slice(0, 200)}`;
