import type { StoreReader } from './eventstore.ts';

/**
 * Reads stored events in the order of arrival, to rebuild persons and groups. Every read concerns some distinct ids or group keys of one
 * project, and returns each event once.
 */
export interface FirstSeen {
  readonly distinctId: string;
  /** Earliest time of an event of this id, µs. */
  readonly createdAt: number;
  readonly arrival: Arrival;
}

/** Position of an event in the order of arrival; events of one request share `receivedAt`. Times in µs. */
export interface Arrival {
  readonly receivedAt: number;
  readonly micros: number;
  /** 0: a merge of persons, which comes before other changes at the same time; 1: any other event. */
  readonly rank: number;
  readonly uuid: string;
  readonly distinctId: string;
  readonly event: string;
  readonly day: string;
}

export interface ProfileEvent extends Arrival {
  /** JSON text. */
  readonly properties: string;
}

/**
 * By run: when all its events count as arrived, µs. A run that loads again arrives later than it did or would have, but which person
 * absorbs the other must not depend on that.
 */
export type RunArrivals = Readonly<Record<string, number>>;

/** Events that merge two ids. */
const mergeEvents = "('$identify', '$create_alias', '$merge_dangerously')";
const groupEvents = "('$groupidentify', '$group_identify')";
const ofProject = 'project_id = {project:Int32}';
const ofIds = `${ofProject} AND distinct_id IN (SELECT arrayJoin({ids:Array(String)}))`;
/** A key may be written with escapes, in which case the text has to be parsed. */
const mayHave = (...keys: readonly string[]): string =>
  [...keys.map((key) => `position(properties, '"${key}') > 0`), String.raw`position(properties, '\\u') > 0`].join(
    ' OR ',
  );
const isNobodys = `((${mayHave('$process_person_profile')}) AND JSONExtractRaw(properties, '$process_person_profile') = 'false')`;
const rank = `if(event IN ${mergeEvents}, 0, 1)`;
const arrivalColumns = `toUnixTimestamp64Micro(timestamp) AS micros, ${rank} AS rank, toString(uuid) AS uuid_text, distinct_id,
  event, toString(day) AS day_text`;
const arrivalOrder = 'received, micros, rank, uuid_text, distinct_id, event, day_text';

function receivedSql(arrivals: RunArrivals): string {
  const own = 'toUnixTimestamp64Micro(received_at)';
  if (Object.keys(arrivals).length === 0) return own;
  return `transform(import_run, {runs:Array(String)}, {arrivals:Array(Int64)}, ${own})`;
}

function paramsOf(arrivals: RunArrivals) {
  const runs = Object.keys(arrivals);
  return runs.length === 0 ? {} : { runs, arrivals: Object.values(arrivals) };
}

/** Returns when each id was first seen with an event that creates a person; ids without one are omitted. */
export async function firstSeen(
  store: StoreReader,
  projectId: number,
  ids: readonly string[],
  arrivals: RunArrivals,
): Promise<FirstSeen[]> {
  const rows = await store.query<{ distinct_id: string; created: string; first: [string, string, number, string] }>(
    `SELECT distinct_id, min(toUnixTimestamp64Micro(timestamp)) AS created,
  min((${receivedSql(arrivals)}, toUnixTimestamp64Micro(timestamp), ${rank}, toString(uuid))) AS first
FROM events FINAL PREWHERE ${ofIds} WHERE NOT ${isNobodys} GROUP BY distinct_id`,
    { project: projectId, ids, ...paramsOf(arrivals) },
  );
  return rows.map(({ distinct_id: distinctId, created, first: [receivedAt, micros, ofRank, uuid] }) => {
    const time = { receivedAt: Number(receivedAt), micros: Number(micros), rank: Number(ofRank) };
    return { distinctId, createdAt: Number(created), arrival: { ...time, uuid, distinctId, event: '', day: '' } };
  });
}

/** Returns events of these ids that change or merge persons, at most `limit`, after `after`. */
export function profileEvents(
  store: StoreReader,
  projectId: number,
  ids: readonly string[],
  page: ArrivalPage,
): Promise<ProfileEvent[]> {
  const isChange = `(event IN ${mergeEvents} OR ${mayHave('$set', '$unset')})`;
  return readPage(store, `PREWHERE ${ofIds} WHERE ${isChange}`, { project: projectId, ids }, page);
}

/** Returns events that change these groups. */
export function groupProfileEvents(
  store: StoreReader,
  projectId: number,
  keys: readonly string[],
  page: ArrivalPage,
): Promise<ProfileEvent[]> {
  const key = textOf("'$group_key'");
  const where = `PREWHERE ${ofProject} AND event IN ${groupEvents} WHERE ${key} IN (SELECT arrayJoin({keys:Array(String)}))`;
  return readPage(store, where, { project: projectId, keys }, page);
}

export interface ArrivalPage {
  readonly after: Arrival | undefined;
  readonly limit: number;
  readonly arrivals: RunArrivals;
}

async function readPage(
  store: StoreReader,
  where: string,
  params: Readonly<Record<string, number | readonly string[]>>,
  { after, limit, arrivals }: ArrivalPage,
): Promise<ProfileEvent[]> {
  const beyond =
    after === undefined
      ? ''
      : `AND (${arrivalOrder}) > ({received:Int64}, {micros:Int64}, {rank:UInt8}, {uuid:String}, {id:String}, {event:String}, {day:String})`;
  const rows = await store.query<ArrivalRow>(
    `SELECT ${receivedSql(arrivals)} AS received, ${arrivalColumns}, properties FROM events FINAL ${where} ${beyond} ORDER BY ${arrivalOrder} LIMIT {limit:UInt32}`,
    { ...params, ...paramsOf(arrivals), limit, ...(after === undefined ? {} : keyOf(after)) },
  );
  return rows.map((row) => ({
    receivedAt: Number(row.received),
    micros: Number(row.micros),
    rank: row.rank,
    uuid: row.uuid_text,
    distinctId: row.distinct_id,
    event: row.event,
    day: row.day_text,
    properties: row.properties,
  }));
}

interface ArrivalRow {
  readonly received: string;
  readonly micros: string;
  readonly rank: number;
  readonly uuid_text: string;
  readonly distinct_id: string;
  readonly event: string;
  readonly day_text: string;
  readonly properties: string;
}

function keyOf({ receivedAt, micros, rank: ofRank, uuid, distinctId, event, day }: Arrival) {
  return { received: receivedAt, micros, rank: ofRank, uuid, id: distinctId, event, day };
}

/** Converts an id or key: strings unchanged, anything else to JSON; empty for values that identify nothing. */
function textOf(key: string): string {
  const raw = `JSONExtractRaw(properties, ${key})`;
  return `multiIf(JSONType(properties, ${key}) = 'String', JSONExtractString(properties, ${key}),
  ${raw} IN ('null', 'false', '0'), '', ${raw})`;
}

/** Returns pairs of ids that stored events merge, where one of them is in `ids`. */
export async function mergePairs(
  store: StoreReader,
  projectId: number,
  ids: readonly string[],
): Promise<(readonly [string, string])[]> {
  const isAsked = 'IN (SELECT arrayJoin({ids:Array(String)}))';
  const other = textOf("if(event = '$identify', '$anon_distinct_id', 'alias')");
  const rows = await store.query<{ distinct_id: string; other: string }>(
    `SELECT DISTINCT distinct_id, ${other} AS other FROM events PREWHERE ${ofProject} AND event IN ${mergeEvents}
WHERE other != '' AND (distinct_id ${isAsked} OR other ${isAsked})`,
    { project: projectId, ids },
  );
  return rows.map((row) => [row.distinct_id, row.other] as const);
}
