import type { EventStore, StoreReader } from './eventstore.ts';

/** Reads what an import has stored. Every query uses FINAL: a row that a later merge will remove never counts. */
export interface ImportedCount {
  /** UTC day of the events' time. */
  readonly day: string;
  readonly event: string;
  readonly count: number;
  /**
   * 16 hex digits: XOR over the events of the first 8 bytes of the MD5 of `uuid \0 distinct_id \0 time`, read as a
   * little-endian number (uuid in lower case, time in µs since the epoch as a decimal number). src/imports/checksum.ts
   * computes the same.
   */
  readonly checksum: string;
  /** 16 hex digits over the contents of the events, without the mark of their run; src/imports/checksum.ts defines both kinds. */
  readonly content: string;
}

/** Kind of the checksum over contents. */
export type ContentsKind = 'crc32' | 'md5';

export interface ImportedIdentity {
  /** UTC day of its identity, which is that of the event's time. */
  readonly day: string;
  readonly event: string;
  readonly uuid: string;
  readonly distinctId: string;
  /** µs since the epoch. */
  readonly timestampMicros: bigint;
  /** Run that stored it; empty: not imported. */
  readonly runId: string;
  /** Its contribution to `content` of the count. */
  readonly content: string;
}

const identityHash = wordOf(
  "concat(toString(uuid), '\\0', distinct_id, '\\0', toString(toUnixTimestamp64Micro(timestamp)))",
);

const ofProject = 'project_id = {project:Int32}';
const ofDay = `${ofProject} AND day = toDate32({day:String})`;
/** Imported properties end with it; others are used unchanged. */
const mark = `concat(',"$import_run_id":"', import_run, '"}')`;
const unmarked = `if(endsWith(properties, ${mark}), concat(substring(properties, 1, length(properties) - length(${mark})), '}'), properties)`;
const markChars = ',"$import_run_id":""}'.length;
/** Properties without their mark or last brace: the length of the id determines where to cut, without a search for the mark. */
export const cutProperties = `substring(properties, 1, length(properties) - if(import_run = '', 1, length(import_run) + ${markChars}))`;
export const contentHashes: Readonly<Record<ContentsKind, string>> = {
  crc32: crcWord(`CRC32(${cutProperties})`),
  md5: wordOf(`concat(toString(uuid), '\\0', ${unmarked})`),
};

/** Combines the CRC-32 of the properties with the halves of the identity's hash. */
function crcWord(crc: string): string {
  const [low, high] = [`toUInt32(${identityHash})`, `toUInt32(bitShiftRight(${identityHash}, 32))`];
  const half = (one: string, other: string): string =>
    `toUInt32(toUInt64(bitXor(${crc}, ${one})) * toUInt64(bitOr(${other}, 1)))`;
  return `bitOr(toUInt64(${half(low, high)}), bitShiftLeft(toUInt64(${half(high, low)}), 32))`;
}

/** Returns the first 8 bytes of the MD5 as a number. */
function wordOf(text: string): string {
  return `reinterpretAsUInt64(substring(MD5(${text}), 1, 8))`;
}

function hex(number: string): string {
  return `leftPad(lower(hex(${number})), 16, '0')`;
}

const eventsFinal = 'events FINAL';

/**
 * Counts the events that one run stored, by day and name, for a range of UTC days (`2024-03-01`, by their timestamp, both
 * ends included). `table` replaces `events` in the query.
 */
export async function importedCounts(
  store: StoreReader,
  projectId: number,
  of: { readonly run: string; readonly from: string; readonly to: string },
  contents: ContentsKind,
  table = eventsFinal,
): Promise<ImportedCount[]> {
  const rows = await store.query<Omit<ImportedCount, 'day' | 'count'> & { day_text: string; events: string }>(
    `SELECT toString(day) AS day_text, event, count() AS events, ${hex(`groupBitXor(${identityHash})`)} AS checksum,
  ${hex(`groupBitXor(${contentHashes[contents]})`)} AS content
FROM ${table}
PREWHERE ${ofProject} AND day >= toDate32({from:String}) AND day <= toDate32({to:String})
WHERE import_run = {run:String}
GROUP BY day, event
ORDER BY day, event`,
    { project: projectId, ...of },
  );
  return rows.map(({ day_text: day, event, events, checksum, content }) => {
    return { day, event, count: Number(events), checksum, content };
  });
}

export interface IdentityPage<Event = ImportedIdentity, Key = Event> {
  readonly events: readonly Event[];
  /** Pass it as `after` for the next page. `undefined` after the last. */
  readonly next: Key | undefined;
}

/** Position at which a page ends. */
export interface IdentityKey {
  readonly day: string;
  readonly uuid: string;
  readonly distinctId: string;
}

/** Lists events with this name on one day or all days, from any run or from capture, in the order of the table's key. `table` is as in `importedCounts`. */
export async function importedEvents(
  store: StoreReader,
  projectId: number,
  where: { readonly day?: string | undefined; readonly event: string; readonly after?: IdentityKey | undefined },
  page: IdentityPageOf,
  table = eventsFinal,
): Promise<IdentityPage> {
  const { day, event, after } = where;
  const sql = `${identityColumns(page)} FROM ${table}
PREWHERE ${day === undefined ? ofProject : ofDay} AND event = {event:String} ${beyond(after)}
ORDER BY day, cityHash64(distinct_id), uuid, distinct_id
LIMIT {limit:UInt32}`;
  const params = { project: projectId, event, limit: page.limit, ...(day === undefined ? {} : { day }) };
  const rows = await store.query<IdentityRow>(sql, { ...params, ...placeOf(after) });
  return identityPage(rows, page);
}

/** Position at which a page of events with several names ends. */
export interface NamedIdentityKey extends IdentityKey {
  readonly event: string;
}

/** Lists events with these names on a day as `importedEvents` does, name by name. */
export async function importedEventsNamed(
  store: StoreReader,
  projectId: number,
  where: { readonly day: string; readonly events: readonly string[]; readonly after?: NamedIdentityKey | undefined },
  page: IdentityPageOf,
  table = eventsFinal,
): Promise<IdentityPage> {
  const { day, events, after } = where;
  const order = 'event, cityHash64(distinct_id), uuid, distinct_id';
  const from =
    after === undefined
      ? ''
      : `AND (${order}) > ({after_event:String}, cityHash64({after_id:String}), {after_uuid:UUID}, {after_id:String})`;
  const sql = `${identityColumns(page)} FROM ${table}
PREWHERE ${ofDay} AND event IN (SELECT arrayJoin({events:Array(String)})) ${from}
ORDER BY ${order}
LIMIT {limit:UInt32}`;
  const params = { project: projectId, day, events: [...events], limit: page.limit };
  const key = after && { after_event: after.event, after_id: after.distinctId, after_uuid: after.uuid };
  return identityPage(await store.query<IdentityRow>(sql, { ...params, ...key }), page);
}

export interface IdentityPageOf {
  readonly limit: number;
  readonly contents: ContentsKind;
}

function identityColumns({ contents }: IdentityPageOf): string {
  return `SELECT toString(day) AS day_text, event, toString(uuid) AS uuid_text, distinct_id,
  toUnixTimestamp64Micro(timestamp) AS micros, import_run AS run, ${hex(contentHashes[contents])} AS content`;
}

function identityPage(rows: readonly IdentityRow[], { limit }: IdentityPageOf): IdentityPage {
  const events = rows.map((row) => ({
    day: row.day_text,
    event: row.event,
    uuid: row.uuid_text,
    distinctId: row.distinct_id,
    timestampMicros: BigInt(row.micros),
    runId: row.run,
    content: row.content,
  }));
  const last = events.at(-1);
  return { events, next: last !== undefined && events.length === limit ? last : undefined };
}

function beyond(after: IdentityKey | undefined): string {
  if (after === undefined) return '';
  return `AND day >= toDate32({after_day:String}) AND (day, cityHash64(distinct_id), uuid, distinct_id) >
  (toDate32({after_day:String}), cityHash64({after_id:String}), {after_uuid:UUID}, {after_id:String})`;
}

function placeOf(after: IdentityKey | undefined): Readonly<Record<string, string>> {
  return after === undefined ? {} : { after_day: after.day, after_id: after.distinctId, after_uuid: after.uuid };
}

/**
 * Returns where writers other than these runs have stored events with this name. Without FINAL: one row is enough, even if it is
 * hidden by a row of these runs.
 */
export async function placesWithoutRuns(
  store: EventStore,
  projectId: number,
  where: { readonly event: string; readonly runs: readonly string[]; readonly after?: IdentityKey | undefined },
  limit: number,
): Promise<IdentityPage<IdentityKey>> {
  const { event, runs, after } = where;
  const rows = await store.query<Pick<IdentityRow, 'day_text' | 'uuid_text' | 'distinct_id'>>(
    `SELECT toString(day) AS day_text, toString(uuid) AS uuid_text, distinct_id
FROM events
PREWHERE ${ofProject} AND event = {event:String} ${beyond(after)}
WHERE import_run NOT IN (SELECT arrayJoin({runs:Array(String)}))
GROUP BY day, distinct_id, uuid
ORDER BY day, cityHash64(distinct_id), uuid, distinct_id
LIMIT {limit:UInt32}`,
    { project: projectId, event, runs: [...runs], limit, ...placeOf(after) },
  );
  const events = rows.map((row) => ({ day: row.day_text, uuid: row.uuid_text, distinctId: row.distinct_id }));
  const last = events.at(-1);
  return { events, next: last !== undefined && events.length === limit ? last : undefined };
}

interface IdentityRow {
  readonly day_text: string;
  readonly event: string;
  readonly uuid_text: string;
  readonly distinct_id: string;
  readonly micros: string;
  readonly run: string;
  readonly content: string;
}

/** An event requested by its uuid. */
export interface ImportedProperties {
  readonly uuid: string;
  readonly distinctId: string;
  /** Text as stored. */
  readonly properties: string;
}

/** Returns the stored properties of these events, from any run or from capture. `table` is as in `importedCounts`. */
export async function importedProperties(
  store: StoreReader,
  projectId: number,
  where: { readonly day: string; readonly event: string; readonly uuids: readonly string[] },
  table = eventsFinal,
): Promise<ImportedProperties[]> {
  if (where.uuids.length === 0) return [];
  const rows = await store.query<{ uuid_text: string; distinct_id: string; properties: string }>(
    `SELECT toString(uuid) AS uuid_text, distinct_id, properties
FROM ${table}
PREWHERE ${ofDay} AND event = {event:String} AND uuid IN (SELECT arrayJoin({uuids:Array(UUID)}))`,
    { project: projectId, ...where },
  );
  return rows.map((row) => ({ uuid: row.uuid_text, distinctId: row.distinct_id, properties: row.properties }));
}

/** Returns which of these identities are stored on this day: keys of `identityKey`. Without FINAL: one row is enough. */
export async function storedOnDay(
  store: EventStore,
  projectId: number,
  day: string,
  identities: readonly { readonly uuid: string; readonly event: string; readonly distinctId: string }[],
): Promise<ReadonlySet<string>> {
  if (identities.length === 0) return new Set();
  const rows = await store.query<{ uuid_text: string; event: string; distinct_id: string }>(
    `SELECT DISTINCT toString(uuid) AS uuid_text, event, distinct_id
FROM events
PREWHERE ${ofDay}
  AND event IN (SELECT arrayJoin({events:Array(String)}))
  AND uuid IN (SELECT arrayJoin({uuids:Array(UUID)}))`,
    {
      project: projectId,
      day,
      events: [...new Set(identities.map(({ event }) => event))],
      uuids: [...new Set(identities.map(({ uuid }) => uuid))],
    },
  );
  return new Set(
    rows.map((row) => identityKey({ uuid: row.uuid_text, event: row.event, distinctId: row.distinct_id })),
  );
}

export function identityKey(of: {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
}): string {
  return JSON.stringify([of.uuid, of.event, of.distinctId]);
}
