import type { StoreReader } from './eventstore.ts';
import type { EventRow } from './rows.ts';

/** A month of a project, for copying it to another store and comparing the two. */
export interface MonthRef {
  readonly projectId: number;
  /** Month of the events' `day`: 202403 is March 2024. */
  readonly month: number;
}

export interface MonthSummary {
  /** Number of events as reads return them. */
  readonly events: number;
  /** Sum of the engine's hashes of all columns, modulo 2^64, as a decimal number. */
  readonly checksum: string;
  /** Mean size of their properties, bytes. */
  readonly meanBytes: number;
}

/** Position of a row in its month; times in µs. */
export interface MonthRowKey {
  readonly day: number;
  readonly event: string;
  readonly distinct_id: string;
  readonly uuid: string;
  readonly received: string;
  readonly micros: string;
}

export interface MonthPage {
  readonly rows: readonly EventRow[];
  readonly last: MonthRowKey | undefined;
}

const ofMonth = 'project_id = {project:Int32} AND toYYYYMM(day) = {month:UInt32}';
const hash = `cityHash64(project_id, toInt32(day), toString(uuid), toUnixTimestamp64Micro(timestamp),
  toUnixTimestamp64Micro(received_at), historical_migration, toString(event), distinct_id, properties)`;

/** Returns projects with events, whether or not they still exist. */
export async function projectsWithEvents(store: StoreReader): Promise<number[]> {
  const rows = await store.query<{ project_id: number }>('SELECT DISTINCT project_id FROM events ORDER BY project_id');
  return rows.map((row) => row.project_id);
}

export interface MonthCount extends MonthRef {
  /** Number as reads return them. */
  readonly events: number;
}

/** Counts the months of every project, in order. */
export async function countMonths(store: StoreReader): Promise<MonthCount[]> {
  const rows = await store.query<{ project_id: number; month: number; events: string }>(
    `SELECT project_id, toYYYYMM(day) AS month, count() AS events FROM events FINAL
GROUP BY project_id, month ORDER BY project_id, month`,
  );
  return rows.map(({ project_id: projectId, month, events }) => ({
    projectId,
    month: Number(month),
    events: Number(events),
  }));
}

export async function summariseMonth(store: StoreReader, { projectId, month }: MonthRef): Promise<MonthSummary> {
  const [row] = await store.query<{ events: string; checksum: string; bytes: string }>(
    `SELECT count() AS events, toString(sum(${hash})) AS checksum, sum(length(properties)) AS bytes
FROM events FINAL PREWHERE ${ofMonth}`,
    { project: projectId, month },
  );
  const events = Number(row?.events ?? 0);
  return { events, checksum: row?.checksum ?? '0', meanBytes: events === 0 ? 0 : Number(row?.bytes ?? 0) / events };
}

/** For `rowOf`. */
export const rowColumns = `toInt32(day) AS day_number, event, toString(uuid) AS uuid_text, distinct_id,
  toUnixTimestamp64Micro(timestamp) AS micros, toUnixTimestamp64Micro(received_at) AS received,
  historical_migration, properties`;
const order = 'day, event, cityHash64(distinct_id), uuid, distinct_id, received_at, timestamp';
// The first condition follows from the second, but an index can use it.
const beyond = `day >= toDate32({day:Int32}) AND (day > toDate32({day:Int32}) OR event >= {event:String})
  AND (${order}) > (toDate32({day:Int32}), {event:String}, cityHash64({id:String}), {uuid:UUID}, {id:String},
    fromUnixTimestamp64Micro({received:Int64}, 'UTC'), fromUnixTimestamp64Micro({micros:Int64}, 'UTC'))`;

export interface PageRow {
  readonly day_number: number;
  readonly event: string;
  readonly uuid_text: string;
  readonly distinct_id: string;
  readonly micros: string;
  readonly received: string;
  readonly historical_migration: boolean;
  readonly properties: string;
}

/** Reads a page in the order of the table's key. `shown`: events as reads return them; otherwise every stored row, including hidden ones. */
export async function readMonthPage(
  store: StoreReader,
  { projectId, month }: MonthRef,
  page: { readonly shown: boolean; readonly after: MonthRowKey | undefined; readonly limit: number },
): Promise<MonthPage> {
  const { after } = page;
  const rows = await store.query<PageRow>(
    `SELECT ${rowColumns} FROM events ${page.shown ? 'FINAL' : ''} PREWHERE ${ofMonth}
${after === undefined ? '' : `WHERE ${beyond}`} ORDER BY ${order} LIMIT {limit:UInt32}`,
    { project: projectId, month, limit: page.limit, ...(after && placeOf(after)) },
  );
  const last = rows.at(-1);
  return { rows: rows.map((row) => rowOf(projectId, row)), last: last && keyOf(last) };
}

function placeOf({ day, event, distinct_id: id, uuid, received, micros }: MonthRowKey) {
  return { day, event, id, uuid, received: BigInt(received), micros: BigInt(micros) };
}

function keyOf(row: PageRow): MonthRowKey {
  const { day_number: day, event, distinct_id, uuid_text: uuid, received, micros } = row;
  return { day, event, distinct_id, uuid, received, micros };
}

export function rowOf(projectId: number, row: PageRow): EventRow {
  return {
    projectId,
    historical: row.historical_migration,
    receivedAtMicros: Number(row.received),
    timestampMicros: Number(row.micros),
    keyDay: row.day_number,
    uuid: row.uuid_text,
    event: row.event,
    distinctId: row.distinct_id,
    properties: row.properties,
  };
}
