import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { skippedByName, type NoEvents } from './event-writer.ts';
import type { RecordReader, RecordResult } from './format.ts';
import { propertyWriter } from './map-steps.ts';
import { type Json, memberAt, idOf } from './read-values.ts';
import type { FoundNote } from './record-notes.ts';
import type { Check, Draft, Identity, RecordMap, ContentUuid, IdPart, MakeUuid, UuidRule } from './record-map.ts';
import { normaliseProperties } from './normalise-properties.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { canonicalUuid } from '../../base/uuids.ts';
import { createUuids, partsSeparator } from './derived-uuids.ts';
import type { IdCounter } from './occurrences.ts';

/** Reads records by the map of their format, in any form that is not nested too deeply. */
export interface MapReader {
  readonly read: (record: Json) => RecordResult;
  /** Reads one of several events of a record in two steps: nothing is remembered before it is written. */
  readonly begin: (record: Json) => NoEvents | BegunRecord;
}

interface BegunRecord {
  readonly kind: 'readable';
  readonly result: () => RecordResult;
  /** Returns the events of the result. */
  readonly write: () => readonly WireEvent[];
}

/** Attaches the map to a reader that follows it for usual records. */
export function withMap(read: (record: unknown) => RecordResult, map: RecordMap): RecordReader {
  return Object.assign((record: unknown) => read(record), { map });
}

export function createMapReader(map: RecordMap): MapReader {
  const checks = map.order.map((check) => checker(check, map));
  const write = eventWriter(map);
  const start = (given: Json): Draft | RecordResult => {
    const instead = map.instead?.(given);
    if (instead !== undefined) return instead;
    const draft = draftOf(given, map.reshape?.(given) ?? given);
    for (const check of checks) {
      const result = check(draft);
      if (result !== undefined) return result;
    }
    return draft;
  };
  return {
    read: (record) => {
      const started = start(record);
      return 'kind' in started ? started : write(started);
    },
    begin: (record) => {
      const started = start(record);
      if (!('kind' in started)) return begun(() => write(started));
      return started.kind === 'events' ? begun(() => started) : started;
    },
  };
}

function begun(result: () => RecordResult): BegunRecord {
  return {
    kind: 'readable',
    result,
    write: () => {
      const written = result();
      return written.kind === 'events' ? written.events : [];
    },
  };
}

const noIdentity: Identity = { distinctId: undefined };
const noNotes: Draft['notes'] = [];

function draftOf(given: Json, record: Json): Draft {
  return {
    given,
    record,
    source: undefined,
    name: '',
    event: null,
    timestamp: '',
    identity: noIdentity,
    uuid: '',
    properties: {},
    ofTime: undefined,
    set: {},
    setOnce: {},
    notes: noNotes,
  };
}

/** Adds a note to the draft, for hooks. */
export function note(draft: Draft, found: FoundNote): void {
  draft.notes = [...draft.notes, found];
}

/** Returns `undefined` if the draft passes. */
type Checker = (draft: Draft) => RecordResult | undefined;

function checker(check: Check, map: RecordMap): Checker {
  if (typeof check === 'function') return check;
  if (typeof check === 'object') return (draft) => check.read(draft.record);
  const { event, time, ids } = map;
  switch (check) {
    case 'event':
      return (draft) => {
        const name = event.read(draft.record);
        if (typeof name !== 'string') return name;
        draft.name = name;
        return undefined;
      };
    case 'time':
      return (draft) => {
        const timestamp = time.read(draft.record) ?? time.otherwise(draft);
        if (typeof timestamp !== 'string') return timestamp;
        draft.timestamp = timestamp;
        return undefined;
      };
    case 'ids':
      return (draft) => {
        const found = ids.read(draft.record);
        if ('kind' in found) return found;
        draft.identity = found;
        return undefined;
      };
    case 'names':
      return (draft) => {
        draft.event = event.named(draft.name, draft.record);
        return draft.event === null && map.keepsLinks !== true ? skippedByName(draft.name) : undefined;
      };
    case 'verbs':
      return (draft) => (event.verbs?.names.has(draft.name) === true ? event.verbs.read(draft) : undefined);
    case 'uuid':
      return uuidChecker(map);
  }
}

function uuidChecker({ uuid }: RecordMap): Checker {
  const make = uuidMaker(uuid);
  return (draft) => {
    const made = make(draft);
    if (typeof made !== 'string') return made;
    draft.uuid = made;
    return undefined;
  };
}

/** Writes the events of a draft that passed all checks. */
function eventWriter(map: RecordMap): (draft: Draft) => RecordResult {
  const makeUuid = map.order.includes('uuid') ? undefined : uuidChecker(map);
  const eventsBefore = earlierEvents(map);
  const finished = finisher(map);
  return (draft) => {
    if (draft.event === null) {
      const events = eventsBefore(draft);
      return events.length === 0 ? skippedByName(draft.name) : { kind: 'events', events };
    }
    const refused = makeUuid?.(draft);
    if (refused !== undefined) return refused;
    const event = finished(draft, draft.event);
    if ('kind' in event) return event;
    const events = [...eventsBefore(draft), event];
    return draft.notes === noNotes ? { kind: 'events', events } : { kind: 'events', events, notes: draft.notes };
  };
}

/** Returns the links and additional events that precede the event. */
function earlierEvents({ links, additional }: RecordMap): (draft: Draft) => readonly WireEvent[] {
  return (draft) => {
    const { user, device, isUnlinked } = draft.identity;
    const isLinked = links !== undefined && user !== undefined && device !== undefined && isUnlinked !== true;
    const linking = isLinked ? links(user, device, draft.timestamp) : [];
    if (additional === undefined || additional.isIdle(draft.record)) return linking;
    return [...linking, ...additional.events(draft)];
  };
}

/** Writes the event itself. */
function finisher(map: RecordMap): (draft: Draft, event: string) => WireEvent | NoEvents {
  const { finish, source, isNormalised } = map;
  const addProperties = propertyWriter(map);
  return (draft, event) => {
    addProperties(draft);
    const { uuid, identity, timestamp, properties } = draft;
    if (identity.isPlaceholderId === true) properties['$process_person_profile'] = false;
    if (isNormalised !== true) normaliseProperties(properties);
    if (source !== undefined) {
      properties['$geoip_disable'] = true;
      properties['$import_source'] = source;
    }
    const own = { uuid, event, distinct_id: identity.distinctId ?? uuid, timestamp, properties };
    return finish === undefined ? own : finish(own);
  };
}

/** Returns the function that creates an event's uuid by its rule. */
export function uuidMaker(rule: UuidRule): MakeUuid {
  switch (rule.is) {
    case 'uuid': {
      const valueOf = memberAt(rule.path);
      return (draft) => canonicalUuid(valueOf(draft.record)) ?? rule.otherwise(draft);
    }
    case 'name':
      return ofName(rule);
    case 'content':
      return ofContent(rule);
    case 'parts':
      return ofParts(rule);
  }
}

function ofName(rule: Extract<UuidRule, { is: 'name' }>): MakeUuid {
  const { namespace, occurrences, repeated, otherwise, idOf: read = idOf } = rule;
  const valueOf = memberAt(rule.path);
  const uuidOf = counted(namespace, occurrences, repeated);
  const withoutId = typeof otherwise === 'function' ? otherwise : ofContent(otherwise);
  return (draft) => {
    const id = read(valueOf(draft.record));
    return id === undefined ? withoutId(draft) : uuidOf(id);
  };
}

function ofContent({ namespace, occurrences, repeated, textOf = canonicalJson }: ContentUuid): MakeUuid {
  const uuidOf = counted(namespace, occurrences, repeated);
  return ({ record }) => uuidOf(textOf(record));
}

/** Derives the first uuid of a text from the text, and later ones from the text and their number. */
function counted(
  namespace: Uint8Array,
  occurrences: IdCounter | undefined,
  repeated: NoEvents | undefined,
): (text: string) => string | NoEvents {
  const uuidOf = createUuids(namespace);
  return (text) => {
    const first = uuidOf(text);
    const occurrence = occurrences?.next(first) ?? 1;
    return occurrence === 1 ? first : (repeated ?? uuidOf(`${text}${partsSeparator}${occurrence}`));
  };
}

function ofParts({ namespace, parts, mayBeUuid, otherwise }: Extract<UuidRule, { is: 'parts' }>): MakeUuid {
  const uuidOf = createUuids(namespace);
  const [first, ...rest] = parts.map(partReader);
  return (draft) => {
    let text = first?.(draft);
    const own = mayBeUuid === true ? canonicalUuid(text) : undefined;
    if (own !== undefined) return own;
    for (const part of rest) {
      const piece = part(draft);
      if (text === undefined || piece === undefined) return otherwise(draft);
      text += piece;
    }
    return text === undefined ? otherwise(draft) : uuidOf(text);
  };
}

function partReader(part: IdPart): (draft: Draft) => string | undefined {
  if (part === 'time') return ({ timestamp }) => timestamp;
  if (part === 'name') return ({ name }) => name;
  if (part === 'distinct_id') return ({ identity }) => identity.distinctId;
  if ('text' in part) return () => part.text;
  if ('read' in part) return ({ record }) => part.read(record);
  const valueOf = memberAt(part.path);
  const isNeeded = part.isNeeded === true;
  return ({ record }) => idOf(valueOf(record)) ?? (isNeeded ? undefined : '');
}
