import type { EventStore, QueryParam } from './eventstore.ts';
import { filterConditions, timeConditions, type Conditions, type EventFilter } from './filters.ts';
import type { RecentReach } from './recent-reach.ts';

/** Reads events. A row that a later merge will remove is never returned: every query uses FINAL. */
export interface StoredEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** µs since the epoch. */
  readonly timestampMicros: bigint;
  /** µs since the epoch. */
  readonly receivedAtMicros: bigint;
  /** JSON text of an object. */
  readonly properties: string;
  readonly historical: boolean;
}

/** The identity and time of an event: where a page ends. */
export interface EventKey {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** Day number. */
  readonly day: number;
  readonly timestampMicros: bigint;
}

export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** The `cursor` of the next page. `null` after the last. */
  readonly next: EventKey | null;
}

const dayMicros = 86_400_000_000n;
/** The newest day is enough for most projects; the last span covers everything before. */
export const spans = [1n * dayMicros, 7n * dayMicros, 31n * dayMicros, 366n * dayMicros, null] as const;
/** One person has few events: reading a month costs hardly more than a day, and finds more. */
const narrowSpans = [31n * dayMicros, 124n * dayMicros, 496n * dayMicros, null] as const;

const keyColumns = `toString(uuid) AS uuid_text, event, distinct_id, toInt32(day) AS day_number,
  toUnixTimestamp64Micro(timestamp) AS micros`;
const newestFirst = 'ORDER BY timestamp DESC, uuid DESC, event DESC, distinct_id DESC, day DESC';
const oldestFirst = 'ORDER BY timestamp, uuid, event, distinct_id, day';
export type EventOrder = 'newest_first' | 'oldest_first';

interface KeyRow {
  readonly uuid_text: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly day_number: number;
  readonly micros: string;
}

interface EventRow extends KeyRow {
  readonly received_micros: string;
  readonly properties: string;
  readonly historical_migration: boolean;
}

export interface FoundEvent extends StoredEvent {
  readonly key: EventKey;
}

export interface Range {
  readonly after: bigint | undefined;
  readonly before: bigint | undefined;
}

interface NewestPage {
  readonly limit: number;
  readonly cursor?: EventKey;
  readonly nowMicros: bigint;
  /** Reach of earlier lists of this store, which makes first pages cheaper. */
  readonly reach?: RecentReach;
}

/**
 * Lists events newest first. Searches growing time spans, from the newest backwards, for the keys of as many rows as needed, and reads
 * whole rows only for those: the cost depends on the page, not on the number of stored events.
 */
export async function listEvents(
  store: EventStore,
  projectId: number,
  filter: EventFilter,
  page: NewestPage,
): Promise<EventPage> {
  const found: FoundEvent[] = [];
  let place: Place | undefined = firstPlace(projectId, filter, page);
  // Repeated if duplicates among the keys have left the page short: then for a whole page, since a query for the few missing ones may
  // find nothing but further duplicates.
  while (found.length <= page.limit && place !== undefined) {
    const { keys, next }: Gathered = await gatherKeys(store, projectId, filter, place, page.limit + 1);
    found.push(...(await eventsOf(store, projectId, filter, keys)));
    place = next;
  }
  const events = found.slice(0, page.limit);
  const last = events.at(-1);
  const beyond = found[page.limit];
  if (page.cursor === undefined && beyond !== undefined) {
    page.reach?.note(projectId, filter, { atMicros: page.nowMicros, reachedMicros: beyond.timestampMicros });
  }
  return { events, next: beyond && last ? last.key : null };
}

function firstPlace(projectId: number, filter: EventFilter, { cursor, nowMicros, reach }: NewestPage): Place {
  return {
    cursor,
    before: filter.before,
    from: cursor?.timestampMicros ?? filter.before ?? nowMicros,
    reached: cursor === undefined ? reach?.reached(projectId, filter, nowMicros) : undefined,
    span: 0,
  };
}

/** Position from which the search backwards continues. */
interface Place {
  /** Within the span that ends at `before`. */
  readonly cursor: EventKey | undefined;
  readonly before: bigint | undefined;
  /** No event is newer. */
  readonly from: bigint;
  /** Where the next span begins. If `undefined`, its length decides. */
  readonly reached: bigint | undefined;
  /** Which span comes next. */
  readonly span: number;
}

interface Gathered {
  readonly keys: readonly EventKey[];
  /** `undefined` if there are no more events. */
  readonly next: Place | undefined;
}

async function gatherKeys(
  store: EventStore,
  projectId: number,
  filter: EventFilter,
  place: Place,
  wanted: number,
): Promise<Gathered> {
  const isNarrow = filter.distinctId !== undefined || filter.distinctIds !== undefined;
  const lengths = isNarrow ? narrowSpans : spans;
  // newestMicros ignores these conditions, so that many jumps may find nothing.
  const jumpsToMatch = filter.run === undefined && (filter.properties ?? []).length === 0;
  const keys: EventKey[] = [];
  let { cursor, before, from, reached, span } = place;
  for (;;) {
    const after = reached ?? spanStart(from, lengths[span] ?? null, filter.after);
    const more = await keysIn(store, projectId, filter, { after, before }, cursor, wanted - keys.length);
    keys.push(...more);
    // The span may contain more.
    if (keys.length === wanted) return { keys, next: { cursor: keys.at(-1), before, from, reached, span } };
    if (after === filter.after) return { keys, next: undefined };
    // After an empty span, jumps to the newest event and continues with a span of the same length.
    const isLonger = reached === undefined && (more.length > 0 || !jumpsToMatch);
    if (isLonger) span = Math.min(span + 1, lengths.length - 1);
    before = after;
    cursor = undefined;
    reached = undefined;
    const next =
      more.length > 0 ? after : await newestMicros(store, projectId, filter, { after: filter.after, before });
    if (next === undefined) return { keys, next: undefined };
    from = next;
  }
}

/** Returns where a span that ends just after `from` begins, or `undefined` for no bound. */
function spanStart(from: bigint, span: bigint | null, after: bigint | undefined): bigint | undefined {
  if (span === null) return after;
  const start = from - span;
  return after !== undefined && after > start ? after : start;
}

/**
 * Returns the time of the newest row that may match; cheap, because it ignores duplicates and properties. It is the first row in an
 * order, for which the engine skips granules that its index of times shows to be older.
 */
async function newestMicros(
  store: EventStore,
  projectId: number,
  filter: EventFilter,
  range: Range,
): Promise<bigint | undefined> {
  const { sql, params, prewhere } = joined(
    filterConditions(projectId, { ...filter, properties: [], run: undefined }),
    timeConditions('timestamp', range.after, range.before),
  );
  const [row] = await store.query<{ micros: string }>(
    `SELECT toUnixTimestamp64Micro(timestamp) AS micros FROM events ${prewhere}WHERE ${sql} ORDER BY timestamp DESC LIMIT 1`,
    params,
  );
  return row && BigInt(row.micros);
}

/** Returns the keys of the first rows in the order, including duplicates. */
export async function keysIn(
  store: EventStore,
  projectId: number,
  filter: EventFilter,
  range: Range,
  cursor: EventKey | undefined,
  limit: number,
  order: EventOrder = 'newest_first',
): Promise<EventKey[]> {
  const { sql, params, prewhere } = joined(
    filterConditions(projectId, filter),
    timeConditions('timestamp', range.after, range.before),
    cursor ? beyond(cursor, order) : { sql: [], params: {} },
  );
  const rows = await store.query<KeyRow>(
    `SELECT ${keyColumns} FROM events ${prewhere}WHERE ${sql}
${order === 'newest_first' ? newestFirst : oldestFirst} LIMIT {limit:UInt32}`,
    { ...params, limit },
  );
  return rows.map(keyOf);
}

function beyond(cursor: EventKey, order: EventOrder): { sql: string[]; params: Record<string, QueryParam> } {
  const sign = order === 'newest_first' ? '<' : '>';
  return {
    sql: [
      // The first condition follows from the second, but an index can use it.
      `timestamp ${sign}= fromUnixTimestamp64Micro({cursor_micros:Int64}, 'UTC')`,
      `(timestamp, uuid, event, distinct_id, day) ${sign} (
  fromUnixTimestamp64Micro({cursor_micros:Int64}, 'UTC'), {cursor_uuid:UUID}, {cursor_event:String},
  {cursor_id:String}, toDate32({cursor_day:Int32}))`,
    ],
    params: {
      cursor_micros: cursor.timestampMicros,
      cursor_uuid: cursor.uuid,
      cursor_event: cursor.event,
      cursor_id: cursor.distinctId,
      cursor_day: cursor.day,
    },
  };
}

/** Returns the effective events of these keys in order: a key whose row is only a duplicate is omitted. */
export async function eventsOf(
  store: EventStore,
  projectId: number,
  filter: EventFilter,
  keys: readonly EventKey[],
): Promise<FoundEvent[]> {
  if (keys.length === 0) return [];
  const standing = new Map<string, EventRow>();
  for (const row of await effectiveRows(store, projectId, filter, keys)) standing.set(keyText(keyOf(row)), row);
  const events: FoundEvent[] = [];
  for (const key of keys) {
    const text = keyText(key);
    const row = standing.get(text);
    if (row) events.push({ ...eventOf(row), key });
    standing.delete(text);
  }
  return events;
}

/**
 * Returns the effective rows of these identities. Duplicates are rare, so they are merged only if a first query without merging has
 * shown some. That query does not filter: it might exclude the effective row.
 */
async function effectiveRows(
  store: EventStore,
  projectId: number,
  filter: EventFilter,
  keys: readonly EventKey[],
): Promise<readonly EventRow[]> {
  const identities = {
    project: projectId,
    days: [...new Set(keys.map((key) => key.day))],
    events: [...new Set(keys.map((key) => key.event))],
    ids: [...new Set(keys.map((key) => key.distinctId))],
    uuids: [...new Set(keys.map((key) => key.uuid))],
  };
  const rows = await store.query<EventRow>(`${eventsFrom}\n${ofIdentities}`, identities);
  if (new Set(rows.map((row) => identityText(keyOf(row)))).size === rows.length) return rows;
  const { sql, params } = joined(filterConditions(projectId, filter));
  return store.query<EventRow>(
    // So few rows are merged that they need not be read twice.
    `${eventsFrom} FINAL\n${ofIdentities}\nWHERE ${sql}\nSETTINGS enable_vertical_final = 0`,
    { ...params, ...identities },
  );
}

const eventColumns = `${keyColumns}, toUnixTimestamp64Micro(received_at) AS received_micros, properties, historical_migration`;
const eventsFrom = `SELECT ${eventColumns} FROM events`;

/**
 * PREWHERE may be applied before duplicates are merged because it only concerns the identity, which they share. Events and ids only
 * select granules; within them the uuid is enough. The hashes are a subquery because the index cannot use a list that an array
 * function returns.
 */
const ofIdentities = `PREWHERE project_id = {project:Int32}
  AND day IN (CAST({days:Array(Int32)}, 'Array(Date32)'))
  AND indexHint(event IN ({events:Array(String)}))
  AND indexHint(cityHash64(distinct_id) IN (SELECT cityHash64(arrayJoin({ids:Array(String)}))))
  AND uuid IN ({uuids:Array(UUID)})`;

/** Returns the event with this uuid, the newest of several, if it exists. */
export async function getEvent(store: EventStore, projectId: number, uuid: string): Promise<StoredEvent | undefined> {
  const [row] = await store.query<EventRow>(
    // Duplicates share their uuid, so PREWHERE and its index may be applied before they are merged. Servers before 25.6 use an
    // index there only with a setting.
    `${eventsFrom} FINAL PREWHERE uuid = {uuid:UUID}
WHERE project_id = {project:Int32} ${newestFirst} LIMIT 1 SETTINGS use_skip_indexes_if_final = 1`,
    { project: projectId, uuid },
  );
  return row && eventOf(row);
}

/**
 * Returns approximately how many historical events of a project are stored, for limits: rows that a later merge will remove still
 * count, which makes it cheap. usageByDay returns the exact number.
 */
export async function historicalTotal(store: EventStore, projectId: number): Promise<number> {
  const rows = await store.query<{ events: string }>(
    'SELECT count() AS events FROM events WHERE project_id = {project:Int32} AND historical_migration',
    { project: projectId },
  );
  return Number(rows[0]?.events ?? 0);
}

function joined(...parts: readonly Conditions[]): {
  readonly sql: string;
  readonly params: Record<string, QueryParam>;
  /** Text before WHERE: empty, or the first condition to apply. */
  readonly prewhere: string;
} {
  const narrow = parts.map((part) => part.narrow).find((condition) => condition !== undefined);
  const params: Record<string, QueryParam> = {};
  for (const part of parts) Object.assign(params, part.params);
  const sql = parts.flatMap((part) => part.sql).join(' AND ');
  return { sql, params, prewhere: narrow === undefined ? '' : `PREWHERE ${narrow} ` };
}

function keyOf(row: KeyRow): EventKey {
  return {
    uuid: row.uuid_text,
    event: row.event,
    distinctId: row.distinct_id,
    day: row.day_number,
    timestampMicros: BigInt(row.micros),
  };
}

function identityText(key: EventKey): string {
  return JSON.stringify([key.uuid, key.event, key.distinctId, key.day]);
}

function keyText(key: EventKey): string {
  return JSON.stringify([key.uuid, key.event, key.distinctId, key.day, String(key.timestampMicros)]);
}

function eventOf(row: EventRow): StoredEvent {
  return {
    uuid: row.uuid_text,
    event: row.event,
    distinctId: row.distinct_id,
    timestampMicros: BigInt(row.micros),
    receivedAtMicros: BigInt(row.received_micros),
    properties: row.properties,
    historical: row.historical_migration,
  };
}
