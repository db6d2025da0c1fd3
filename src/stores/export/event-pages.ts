import type { StoreReader, QueryParam } from '../events/eventstore.ts';
import { selectionConditions } from '../events/selection.ts';
import type { EventFilter } from '../events/filters.ts';

/**
 * Reads events in the order of the table's key, in parts of limited size. A part begins after the last event of the one before, so that it is
 * the same whenever it is read, and none of an earlier part is read again.
 */

/** The events of an export, which does not change while others arrive: see snapshot.ts. */
export interface ExportedEvents {
  readonly projectId: number;
  readonly filter: EventFilter;
  /** µs since the epoch; events received later do not belong to the export. */
  readonly receivedBefore: bigint;
  /** Import runs whose events do not belong to it. */
  readonly withoutRuns: readonly string[];
}

/** The identity of an event, as the table sorts it. `hash` is that of the distinct_id. */
export interface EventPlace {
  /** Day number. */
  readonly day: number;
  readonly event: string;
  /** Unsigned 64-bit integer. */
  readonly hash: string;
  readonly uuid: string;
}

export interface PartLimits {
  readonly rows: number;
  /** Of the properties. */
  readonly bytes: number;
}

/** Where pages of a part end. */
interface PageEnd extends EventPlace {
  /** Number of the event within the part. */
  readonly n: number;
}

export interface EventRecord {
  readonly uuid_text: string;
  readonly name: string;
  readonly distinct_id: string;
  /** JSON text of an object. */
  readonly properties: string;
  readonly historical_migration: boolean;
  /** µs since the epoch. */
  readonly micros: string;
  readonly received_micros: string;
  /** Id of the import run that stored it, empty for none. */
  readonly run: string;
}

/** Of the properties, plus a fixed size per row. */
const pageBytes = 4 * 1024 * 1024;
const rowBytes = 500;

const keySql = 'day, event, cityHash64(distinct_id), uuid';
const placeSql = `toInt32(day) AS day_number, toString(event) AS name, toString(cityHash64(distinct_id)) AS hash,
  toString(uuid) AS uuid_text`;

interface PlaceRow {
  readonly day_number: number;
  readonly name: string;
  readonly hash: string;
  readonly uuid_text: string;
}

/**
 * Finds the next part. Returns the last event of each of its pages; empty if no event is left. The sizes are read without the rows, so
 * that no page exceeds the limit by more than one event.
 */
export async function planPart(
  store: StoreReader,
  events: ExportedEvents,
  after: EventPlace | undefined,
  limits: PartLimits,
): Promise<readonly PageEnd[]> {
  const { sql, params } = conditionsOf(events, after, undefined);
  const rows = await store.query<PlaceRow & { readonly number: string }>(
    `SELECT day_number, name, hash, uuid_text, n AS number FROM (
  SELECT *, row_number() OVER w AS n, sum(size) OVER w AS total
  FROM (
    SELECT ${placeSql}, day, event, cityHash64(distinct_id) AS id_hash, uuid, length(properties) + ${rowBytes} AS size
    FROM events FINAL WHERE ${sql} ORDER BY ${keySql} LIMIT {rows:UInt32}
  )
  WINDOW w AS (ORDER BY day, event, id_hash, uuid ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE total - size < {bytes:UInt64}
ORDER BY n DESC LIMIT 1 BY intDiv(total - size, ${pageBytes})`,
    { ...params, rows: limits.rows, bytes: limits.bytes },
  );
  return rows
    .map((row) => ({
      day: row.day_number,
      event: row.name,
      hash: row.hash,
      uuid: row.uuid_text,
      n: Number(row.number),
    }))
    .sort((a, b) => a.n - b.n);
}

/** Reads the events of a page, in order. */
export async function readPage(
  store: StoreReader,
  events: ExportedEvents,
  after: EventPlace | undefined,
  upTo: EventPlace,
): Promise<readonly EventRecord[]> {
  const { sql, params } = conditionsOf(events, after, upTo);
  return await store.query<EventRecord>(
    `SELECT toString(uuid) AS uuid_text, toString(event) AS name, distinct_id, properties, historical_migration,
  toUnixTimestamp64Micro(timestamp) AS micros, toUnixTimestamp64Micro(received_at) AS received_micros,
  toString(import_run) AS run
FROM events FINAL WHERE ${sql} ORDER BY ${keySql}`,
    params,
  );
}

/** Counts the events of an export and the size of their properties. */
export async function countExported(
  store: StoreReader,
  events: ExportedEvents,
): Promise<{ readonly events: number; readonly bytes: number; readonly first: bigint; readonly last: bigint }> {
  const { sql, params } = conditionsOf(events, undefined, undefined);
  const [row] = await store.query<{ rows: string; bytes: string; first: string; last: string }>(
    `SELECT count() AS rows, sum(length(properties)) AS bytes, toUnixTimestamp64Micro(min(timestamp)) AS first,
  toUnixTimestamp64Micro(max(timestamp)) AS last FROM events FINAL WHERE ${sql}`,
    params,
  );
  const of = (key: 'rows' | 'bytes' | 'first' | 'last'): string => row?.[key] ?? '0';
  return {
    events: Number(of('rows')),
    bytes: Number(of('bytes')),
    first: BigInt(of('first')),
    last: BigInt(of('last')),
  };
}

interface Where {
  readonly sql: string;
  readonly params: Readonly<Record<string, QueryParam>>;
}

function conditionsOf(
  { projectId, filter, receivedBefore, withoutRuns }: ExportedEvents,
  after: EventPlace | undefined,
  upTo: EventPlace | undefined,
): Where {
  const selected = selectionConditions(projectId, filter);
  const params: Record<string, QueryParam> = { ...selected.params, received_before: receivedBefore };
  const sql = [...selected.sql, "received_at < fromUnixTimestamp64Micro({received_before:Int64}, 'UTC')"];
  if (withoutRuns.length > 0) {
    sql.push('import_run NOT IN (SELECT arrayJoin({without_runs:Array(String)}))');
    params['without_runs'] = withoutRuns;
  }
  for (const [name, place, sign] of [['after', after, '>'] as const, ['up_to', upTo, '<='] as const]) {
    if (place === undefined) continue;
    sql.push(beyond(name, sign));
    params[`${name}_day`] = place.day;
    params[`${name}_event`] = place.event;
    params[`${name}_hash`] = place.hash;
    params[`${name}_uuid`] = place.uuid;
  }
  return { sql: sql.map((each) => `(${each})`).join(' AND '), params };
}

/** Spelled out column by column, because the index of the engine cannot use a comparison of tuples. */
function beyond(name: string, sign: '>' | '<='): string {
  const strict = sign === '>' ? '>' : '<';
  const day = `toDate32({${name}_day:Int32})`;
  const event = `{${name}_event:String}`;
  const hash = `toUInt64({${name}_hash:String})`;
  const id = 'cityHash64(distinct_id)';
  return `day ${strict} ${day} OR (day = ${day} AND (event ${strict} ${event} OR (event = ${event} AND (
  ${id} ${strict} ${hash} OR (${id} = ${hash} AND uuid ${sign} {${name}_uuid:UUID})))))`;
}
