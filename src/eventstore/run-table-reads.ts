import type { RunRef, StoreReader } from './eventstore.ts';
import { contentSql, importedCounts, type ContentsKind, type ImportedCount } from './import-reads.ts';
import { rowColumns, rowOf, type PageRow } from './month-rows.ts';
import type { EventRow } from './rows.ts';
import { runTableName } from './run-tables.ts';

/**
 * Reading the table of a run (run-tables.ts). Its identities are those of `events`: project, day, event, cityHash64 of the distinct_id,
 * uuid. Rejects like `query`, also where the run has no table.
 */

/** Of the row in its source: its `received_at`, µs since the epoch. The number of the record is this minus the start of the run. */
export type SourcePlace = bigint;

/** UTC days of the events' identity, `2024-03-01`; both ends included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/**
 * By day and name, with the checksums of src/imports/checksum.ts. `rows`: all that was inserted, as the converter counted it; `events`:
 * one for each identity, the first of the source, as `importedCounts` reads them from `events` once they are attached.
 */
export async function runTableCounts(
  store: StoreReader,
  run: RunRef,
  days: DayRange,
  { of, contents }: { readonly of: 'rows' | 'events'; readonly contents: ContentsKind },
): Promise<ImportedCount[]> {
  const table = `${runTableName(run)}${of === 'events' ? ' FINAL' : ''}`;
  return await importedCounts(store, run.projectId, { run: run.runId, ...days }, contents, table);
}

export interface RunIdentity {
  readonly day: string;
  readonly event: string;
  readonly distinctId: string;
  readonly uuid: string;
}

export interface RunDuplicate extends RunIdentity {
  readonly rows: number;
  /** The first hundred, ascending; the first one is that of the row that counts. */
  readonly places: readonly SourcePlace[];
}

export interface RunPage<Item, Key = Item> {
  readonly items: readonly Item[];
  /** Pass it as `after` for the next page; undefined: there is none. */
  readonly next: Key | undefined;
}

export interface PageOf<Key> {
  readonly after?: Key | undefined;
  readonly limit: number;
}

const ofProject = 'project_id = {project:Int32}';
const ofDay = `${ofProject} AND day = toDate32({day:String})`;
const key = 'day, event, cityHash64(distinct_id), uuid';

/** Identities with more than one row, in the order of the table's key, which costs no memory. */
export async function runTableDuplicates(
  store: StoreReader,
  run: RunRef,
  { after, limit }: PageOf<RunIdentity>,
): Promise<RunPage<RunDuplicate, RunIdentity>> {
  const beyond =
    after === undefined
      ? ''
      : `AND day >= toDate32({day:String})
  AND (${key}) > (toDate32({day:String}), {event:String}, cityHash64({id:String}), {uuid:UUID})`;
  const rows = await store.query<{ d: string; e: string; u: string; id: string; found: string; places: string[] }>(
    `SELECT toString(day) AS d, toString(event) AS e, toString(uuid) AS u, any(distinct_id) AS id, count() AS found,
  groupArraySorted(100)(toUnixTimestamp64Micro(received_at)) AS places
FROM ${runTableName(run)} PREWHERE ${ofProject} ${beyond}
GROUP BY project_id, ${key} HAVING found > 1 ORDER BY project_id, ${key} LIMIT {limit:UInt32}
SETTINGS optimize_aggregation_in_order = 1`,
    { project: run.projectId, limit, ...(after && identityParams(after)) },
  );
  const items = rows.map(({ d: day, e: event, u: uuid, id: distinctId, found, places }) => {
    return { day, event, uuid, distinctId, rows: Number(found), places: places.map(BigInt) };
  });
  return { items, next: items.length === limit ? items.at(-1) : undefined };
}

function identityParams({ day, event, distinctId: id, uuid }: RunIdentity) {
  return { day, event, id, uuid };
}

/** Where a page of a day ends. */
export type RunRowKey = Pick<EventRow, 'timestampMicros' | 'event' | 'distinctId' | 'uuid'>;

/**
 * Events of a day in the order of their time, one for each identity. The table lies in another order, so each page looks at the whole
 * day: take pages as large as memory allows.
 */
export async function readRunTableDay(
  store: StoreReader,
  run: RunRef,
  day: string,
  { after, limit }: PageOf<RunRowKey>,
): Promise<RunPage<EventRow, RunRowKey>> {
  const order = 'timestamp, event, cityHash64(distinct_id), uuid';
  const beyond = `WHERE (${order}) >
  (fromUnixTimestamp64Micro({micros:Int64}, 'UTC'), {event:String}, cityHash64({id:String}), {uuid:UUID})`;
  const rows = await store.query<PageRow>(
    `SELECT ${rowColumns} FROM ${runTableName(run)} FINAL PREWHERE ${ofDay}
${after === undefined ? '' : beyond} ORDER BY ${order} LIMIT {limit:UInt32}`,
    {
      project: run.projectId,
      day,
      limit,
      ...(after && { ...identityParams({ ...after, day }), micros: BigInt(after.timestampMicros) }),
    },
  );
  const items = rows.map((row) => Object.assign(rowOf(run.projectId, row), { importRun: run.runId }));
  return { items, next: items.length === limit ? items.at(-1) : undefined };
}

export interface RunDifference extends RunIdentity {
  readonly place: SourcePlace;
  /** What reads of `events` show of this identity; undefined: nothing. */
  readonly shown: { readonly runId: string } | undefined;
}

/**
 * Events of one day and name that reads of `events` do not show, or show with another time or other properties (without the mark of
 * their run): nothing is left once all have been attached, but for identities that were stored before. In order of the
 * hash of the distinct_id, and the uuid.
 */
export async function runTableDifferences(
  store: StoreReader,
  run: RunRef,
  { day, event }: Pick<RunIdentity, 'day' | 'event'>,
  { contents, after, limit }: PageOf<RunIdentity> & { readonly contents: ContentsKind },
): Promise<RunPage<RunDifference, RunIdentity>> {
  const beyond = 'AND (cityHash64(distinct_id), uuid) > (cityHash64({id:String}), {uuid:UUID})';
  const side = (table: string, isOwn: 0 | 1): string =>
    `SELECT cityHash64(distinct_id) AS hash, uuid, distinct_id, toUnixTimestamp64Micro(received_at) AS micros,
    toString(import_run) AS run, ${contentSql(contents)} AS content, ${isOwn} AS is_own
  FROM ${table} FINAL PREWHERE ${ofDay} AND event = {event:String} ${after === undefined ? '' : beyond}`;
  const rows = await store.query<{ u: string; id: string; place: string; found: number; shown_run: string }>(
    `SELECT toString(uuid) AS u, anyIf(distinct_id, is_own = 1) AS id, anyIf(micros, is_own = 1) AS place,
  max(is_own = 0) AS found, anyIf(run, is_own = 0) AS shown_run
FROM (${side(runTableName(run), 1)}
  UNION ALL ${side('events', 0)})
GROUP BY hash, uuid
HAVING max(is_own) = 1 AND (found = 0 OR anyIf(content, is_own = 1) != anyIf(content, is_own = 0))
ORDER BY hash, uuid LIMIT {limit:UInt32}`,
    { project: run.projectId, day, event, limit, ...(after && { id: after.distinctId, uuid: after.uuid }) },
  );
  const items = rows.map(({ u: uuid, id: distinctId, place, found, shown_run: runId }) => {
    return { day, event, uuid, distinctId, place: BigInt(place), shown: found === 0 ? undefined : { runId } };
  });
  return { items, next: items.length === limit ? items.at(-1) : undefined };
}
