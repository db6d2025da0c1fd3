import { isObject } from '../../../base/json.ts';
import { unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import type { NameTable } from '../format.ts';
import { timeAt } from '../map-rules.ts';
import { namesOf, rename, type Names } from '../names.ts';
import { personId, idOf, kindOf, numberOf, objectOf, setMember, type Json, type Properties } from '../read-values.ts';
import { note } from '../read-by-map.ts';
import type { Links } from '../reader-memory.ts';
import type { Derived, Draft, Hook, Identity, PersonStep, RecordMap } from '../record-map.ts';
import { kindOfTimes, textTime, utc } from '../times.ts';
import {
  loaderMarks,
  cellOf,
  hasLoaderColumn,
  isInCapitals,
  memberOf,
  plainRow,
  type ColumnKinds,
} from '../warehouse-row.ts';
import { addDeviceId, columnNames, createSystemAdder } from './columns.ts';
import { addGroups, createGroupReader } from './groups.ts';
import { fastId } from '../derived-uuids.ts';

interface AmplitudeParts {
  readonly writer: EventWriter;
  readonly links: Links;
  readonly names: NameTable;
  /** Whether devices are linked to their users. */
  readonly identify: boolean;
  /** Whether events set the user properties of their time. */
  readonly setsPerson: boolean;
}

const idColumns = ['user_id', 'device_id', 'amplitude_id'];

/** Maps lines of the Export API. */
export function amplitudeMap({ writer, links, names, identify, setsPerson }: AmplitudeParts): RecordMap {
  const readGroups = createGroupReader(writer, links);
  return {
    source: 'amplitude',
    reshape: exportedRecord,
    event: {
      from: ['event_type'],
      read: ({ event_type: name }) =>
        idOf(name) ?? unreadable(`expected the name of the event in event_type, got ${kindOf(name)}`),
      named: writer.eventName,
    },
    // UTC without a zone.
    time: timeAt({ path: 'event_time', zone: utc }, otherTime),
    ids: { from: idColumns, read: identityOf, add: (properties, _, record) => addDeviceId(record, properties) },
    uuid: { is: 'uuid', path: 'uuid', otherwise: uuidMaker(writer) },
    order: ['event', 'time', 'ids', 'names'],
    properties: [
      { bag: 'event_properties', names: namesOf(names.properties), taken: 'keeps-own-name' },
      { bag: '', names: columnNames(names), nothing: [null, '', {}, []], taken: { prefix: 'amplitude_' } },
      'ids',
      {
        of: 'members',
        from: ['os_name', 'os_version', 'device_type', 'language'],
        add: createSystemAdder(),
      },
      'time',
      eventType(writer),
      { of: 'members', from: ['groups'], add: addGroups },
      session(),
      'person',
      sampling,
    ],
    ...(setsPerson && { person: personSteps(namesOf(names.person_properties)) }),
    ...(identify && { links: writer.identify }),
    additional: {
      from: ['group_properties'],
      isIdle: ({ group_properties: groups }) => !isObject(groups) || Object.keys(groups).length === 0,
      events: ({ record, timestamp }) => readGroups(record, timestamp),
    },
    keepsLinks: true,
    // Text in user_properties marks a warehouse row, even if the properties are ignored.
    ...(setsPerson && { usual: { has: ['event_properties'], lacks: loaderMarks } }),
  };
}

const times = ['event_time', 'client_event_time', 'server_received_time'];

function otherTime(draft: Draft): string | NoEvents {
  for (const from of times.slice(1)) {
    const time = textTime(draft.record[from]);
    if (time === undefined) continue;
    draft.ofTime = { $amplitude_time_from: from };
    return time;
  }
  const got = kindOfTimes(draft.record, times);
  return unreadable(`expected a time in event_time, client_event_time or server_received_time, got ${got}`);
}

function identityOf({ user_id: userId, device_id: deviceId, amplitude_id: amplitudeId }: Json): Identity | NoEvents {
  const user = personId(userId);
  const device = personId(deviceId);
  const person = user ?? device ?? personId(amplitudeId);
  const distinctId = person ?? idOf(userId) ?? idOf(deviceId);
  if (distinctId === undefined) return unreadable('expected an id in user_id, device_id or amplitude_id');
  return { distinctId, isPlaceholderId: person === undefined, user, device };
}

function uuidMaker(writer: EventWriter): (draft: Draft) => string {
  return ({ record }) => {
    const id = idOf(record['$insert_id']);
    // Amplitude itself treats two events of one device with the same $insert_id as one.
    return id === undefined ? writer.contentId(record) : writer.id('$insert_id', idOf(record['device_id']) ?? '', id);
  };
}

function eventType({ eventName }: EventWriter): Derived {
  return {
    of: 'members',
    from: ['event_type'],
    add: ({ event_type: given }, properties) => {
      const name = idOf(given) ?? '';
      addEventType(name, eventName(name) ?? '', properties);
    },
  };
}

function session(): Derived {
  const sessionId = createSessionIds();
  return {
    of: 'members',
    from: ['session_id', ...idColumns],
    isVaried: true,
    add: (record, properties) => {
      const id = sessionId(record['session_id'], () => deviceOf(record));
      if (id !== undefined) properties['$session_id'] ??= id;
    },
  };
}

function deviceOf(record: Json): string {
  const device = personId(record['device_id']);
  if (device !== undefined) return device;
  const identity = identityOf(record);
  return ('distinctId' in identity && identity.distinctId) || '';
}

/** Notes an event that represents several: Amplitude stored only this share of them. */
const sampling: Hook = {
  from: ['sample_rate'],
  isIdle: ({ sample_rate: rate }) => rate === undefined || rate === null,
  run: (draft) => {
    const share = numberOf(draft.record['sample_rate']);
    if (share !== undefined && share !== 1) note(draft, { of: 'amplitude_sampled', sample: String(share) });
  },
};

/** Writes the user properties at the time of the event. */
function personSteps(names: Names): readonly PersonStep[] {
  return [
    {
      bag: 'user_properties',
      names,
      nothing: [null],
      taken: 'keeps-own-name',
      into: { once: isInitial, nothing: [none] },
      view: (value) => (isObject(value) ? userChanges(value).set : undefined),
    },
    {
      from: userOperations.map((operation) => `user_properties.${operation}`),
      isIdle: (record) => !hasOperations(objectOf(record['user_properties'])),
      run: (draft) => applyOperations(objectOf(draft.record['user_properties']), names, draft),
    },
  ];
}

/** Automatic events keep the kind of interaction. */
function addEventType(name: string, event: string, properties: Properties): void {
  if (event !== '$autocapture') return;
  properties['$event_type'] ??= name.endsWith('Changed') ? 'change' : 'click';
}

/** Amplitude's value for a missing origin. */
const none = 'EMPTY';

/** Whether a property describes the person's first visit. */
function isInitial(name: string): boolean {
  return name.startsWith('$initial_') || name.startsWith('initial_');
}

function hasOperations(user: Json): boolean {
  return userOperations.some((operation) => user[operation] !== undefined);
}

/** Applies operations other than `$set`; those not supported are noted. */
function applyOperations(user: Json, names: Names, draft: Draft): void {
  const { properties, setOnce } = draft;
  const changes = userChanges(user);
  const once: Properties = {};
  rename(changes.setOnce, names, once);
  for (const key of Object.keys(once)) if (once[key] !== null && once[key] !== none) setMember(setOnce, key, once[key]);
  const unset = changes.unset.flatMap((name) => names.get(name) ?? (names.has(name) ? [] : name));
  if (unset.length > 0) properties['$unset'] = unset;
  const [sample] = changes.notApplied;
  if (sample !== undefined) note(draft, { of: 'amplitude_operations', sample });
}

/** Session ids between 1973 and 2286 are times; -1 means no session. */
const earliestMs = 1e11;
const latestMs = 1e13;
const recentMax = 20_000;

/**
 * Converts session ids, which are the start in ms (-1 means no session), to UUIDs of version 7 with the same start; the device
 * determines the remaining bits.
 */
function createSessionIds(): (sessionId: unknown, deviceOf: () => string) => string | undefined {
  // Records of a session are mostly adjacent.
  const recent = new Map<string, { readonly start: number; readonly id: string }>();
  return (sessionId, deviceOf) => {
    const start = typeof sessionId === 'string' ? Number(sessionId) : sessionId;
    if (typeof start !== 'number' || !isStart(start)) return undefined;
    const device = deviceOf();
    const known = recent.get(device);
    if (known?.start === start) return known.id;
    const id = uuidAt(start, fastId('amplitude', 'session', device, String(start)));
    if (recent.size >= recentMax) recent.clear();
    recent.set(device, { start, id });
    return id;
  };
}

function isStart(ms: number): boolean {
  return ms >= earliestMs && ms < latestMs && Number.isInteger(ms);
}

/** `random` provides the bits after time and version. */
function uuidAt(ms: number, random: string): string {
  const time = ms.toString(16).padStart(12, '0').slice(-12);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}

/** Operations that depend on the current value, which no event of an export contains. */
const relative = ['$add', '$append', '$prepend', '$preInsert', '$postInsert', '$remove', '$clearAll'] as const;

/** Members of user_properties that are operations of the Identify API rather than properties. */
const userOperations: readonly string[] = ['$set', '$setOnce', '$unset', ...relative];

/** User properties with operations separated. */
interface UserChanges {
  /** Plain properties and those of `$set`. */
  readonly set: Json;
  readonly setOnce: Json;
  /** Names of removed properties. */
  readonly unset: readonly string[];
  /** Operations that are not applied, such as `$add logins`. */
  readonly notApplied: readonly string[];
}

function userChanges(source: Json): UserChanges {
  if (!userOperations.some((operation) => source[operation] !== undefined)) {
    return { set: source, setOnce: {}, unset: [], notApplied: [] };
  }
  const set: Properties = {};
  for (const key of Object.keys(source)) if (!userOperations.includes(key)) setMember(set, key, source[key]);
  const given = source['$set'];
  if (isObject(given)) for (const key of Object.keys(given)) setMember(set, key, given[key]);
  const once = source['$setOnce'];
  return {
    set,
    setOnce: isObject(once) ? once : {},
    unset: namesIn(source['$unset']),
    notApplied: relative.flatMap((operation) => {
      const of = source[operation];
      return of === undefined
        ? []
        : operation === '$clearAll'
          ? [operation]
          : namesIn(of).map((name) => `${operation} ${name}`);
    }),
  };
}

function namesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.filter((name) => typeof name === 'string');
  return isObject(value) ? Object.keys(value) : [];
}

const marker = 'event_type';

/**
 * Converts a row of a warehouse's event table (Amplitude's own export, Fivetran, other loaders) to a line of the Export API.
 * Other records stay.
 */
function exportedRecord(record: Json): Json {
  if (!isWarehouseRow(record)) return record;
  const row = plainRow(record, marker);
  const exported: Properties = {};
  for (const column of Object.keys(row)) {
    const value = cellOf(kinds, column, row[column]);
    const object = objects.find((each) => memberOf(column, each) !== undefined);
    if (object === undefined) setMember(exported, names.get(column) ?? column, value);
    else putInto(exported, object, memberOf(column, object) ?? '', value);
  }
  return exported;
}

/** In warehouse rows objects are text or separate columns, or the loader added its columns. */
function isWarehouseRow(record: Json): boolean {
  if (isInCapitals(record, marker) || hasLoaderColumn(record)) return true;
  const { event_properties: event, user_properties: user } = record;
  return typeof event === 'string' || typeof user === 'string' || (event === undefined && user === undefined);
}

function putInto(exported: Properties, object: string, member: string, value: unknown): void {
  const there = exported[object];
  const members: Properties = isObject(there) ? { ...there } : {};
  if (!Object.hasOwn(members, member)) setMember(members, member, value);
  exported[object] = members;
}

const objects: readonly string[] = ['event_properties', 'user_properties', 'groups'];

/** Columns whose names differ from the export. */
const names: ReadonlyMap<string, string> = new Map([
  ['_insert_id', '$insert_id'],
  ['_insert_key', '$insert_key'],
  ['_schema', '$schema'],
  ['schema', '$schema'],
  ['ad_id', 'adid'],
  ['id', 'event_id'],
  ['insert_id', '$insert_id'],
]);

const kinds: ColumnKinds = {
  numbers: new Set('amplitude_id app event_id id location_lat location_lng sample_rate session_id'.split(' ')),
  flags: new Set(['is_attribution_event', 'paying']),
  json: new Set('data event_properties global_user_properties group_properties groups plan user_properties'.split(' ')),
};
