import type { RunRef, StoreReader } from './eventstore.ts';
import {
  cutProperties,
  importedCounts,
  importedEvents,
  importedEventsNamed,
  importedProperties,
  type ContentsKind,
  type IdentityKey,
  type IdentityPage,
  type ImportedCount,
  type ImportedProperties,
  type NamedIdentityKey,
} from './import-reads.ts';
import { rowColumns, rowOf, type PageRow } from './month-rows.ts';
import type { EventRow } from './rows.ts';
import { runTableName, type RunTable } from './run-table-names.ts';

/**
 * Reads the tables of a run (run-tables.ts). Their identities are those of `events`: project, day, event, cityHash64 of the
 * distinct_id, uuid. Functions reject like `query`, also if the run has no table.
 *
 * The memory of a query does not depend on the number of rows, but FINAL reads all parts of its days concurrently: query at most a
 * month at a time.
 */

/** UTC days of the events' identity, `2024-03-01`, both inclusive. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/**
 * Counts by day and name, with the checksums of src/imports/checksum.ts. `rows` counts everything inserted, as the converter
 * counted it; `events` counts one per identity, the first of the source, as `importedCounts` reads them from `events` once attached.
 */
export async function runTableCounts(
  store: StoreReader,
  run: RunRef,
  days: DayRange,
  { of, contents }: { readonly of: 'rows' | 'events'; readonly contents: ContentsKind },
): Promise<ImportedCount[]> {
  const table = of === 'events' ? eventsOf(run) : rowsOf(run);
  return await importedCounts(store, run.projectId, { run: run.runId, ...days }, contents, table);
}

export interface RunDay {
  readonly day: string;
  /** Includes rows with equal identities. */
  readonly rows: number;
  /** Approximate size of their events as JSON. */
  readonly bytes: number;
}

/** Size of an event as JSON without its name, distinct_id and properties. */
const otherBytes = 128;

/** Lists the days with rows, ascending. */
export async function runTableDays(store: StoreReader, run: RunRef): Promise<RunDay[]> {
  const found = await store.query<{ day_text: string; found: string; bytes: string }>(
    `SELECT toString(day) AS day_text, count() AS found,
  sum(length(event) + length(distinct_id) + length(properties) + ${otherBytes}) AS bytes
FROM ${rowsOf(run)} PREWHERE ${ofProject} GROUP BY day ORDER BY day`,
    { project: run.projectId },
  );
  return found.map(({ day_text: day, found: rows, bytes }) => ({ day, rows: Number(rows), bytes: Number(bytes) }));
}

/**
 * Counts the rows of a day after the first of their identity that differ from it in properties (without the run's mark) or time. A
 * row stored twice, with the same place, counts once.
 */
export async function runTableChanged(store: StoreReader, run: RunRef, day: string): Promise<number> {
  // The rows of each identity, as place and content, in the order of the source. The order of the table's key would need more memory,
  // because its parts are then read concurrently.
  const [row] = await store.query<{ changed: string }>(
    `SELECT sum(arrayCount(row -> row.2 != found[1].2, found)) AS changed
FROM (SELECT arraySort(arrayDistinct(groupArray((received_at, sipHash64(timestamp, ${cutProperties}))))) AS found
  FROM ${rowsOf(run)} PREWHERE ${ofDay} GROUP BY sipHash64(event, distinct_id, uuid) HAVING count() > 1)
SETTINGS max_bytes_before_external_group_by = ${groupBytesMax}`,
    { project: run.projectId, day },
  );
  return Number(row?.changed ?? 0);
}

/**
 * Estimates the number of events with the name, distinct_id and uuid of one on an earlier day, all of which are stored, from one uuid
 * in `share`. Uses 16 to 32 bytes of memory for each identity of that share.
 */
export async function runTableRepeated(store: StoreReader, run: RunRef, share: number): Promise<number> {
  const ofShare = `FROM ${rowsOf(run)} PREWHERE ${ofProject} AND cityHash64(uuid) % {share:UInt32} = 0`;
  const read = async (sql: string): Promise<number> => {
    const [row] = await store.query<{ repeated: string }>(`SELECT ${sql} AS repeated ${ofShare}`, {
      project: run.projectId,
      share,
    });
    return Number(row?.repeated ?? 0);
  };
  // Uuids are nearly always unique, which costs a third to find out.
  if ((await read('count() - uniqExact(uuid)')) === 0) return 0;
  const repeated =
    'uniqExact(sipHash64(day, event, distinct_id, uuid)) - uniqExact(sipHash64(event, distinct_id, uuid))';
  return (await read(repeated)) * share;
}

export interface RunPage<Item, Key> {
  readonly items: readonly Item[];
  /** Pass it as `after` for the next page. `undefined` after the last. */
  readonly next: Key | undefined;
}

/** Position at which a page of a day ends. */
export type RunRowKey = Pick<EventRow, 'timestampMicros' | 'receivedAtMicros' | 'event' | 'distinctId' | 'uuid'>;

export interface RunPageOf {
  readonly of?: RunTable;
  readonly after?: RunRowKey | undefined;
  readonly limit: number;
  /** Only these events. */
  readonly about?: EventsAbout | undefined;
}

/**
 * Reads a day in order of time, and equal times in the order of the source, one row per identity. The table has another order, so
 * each page scans the whole day: use pages as large as memory permits.
 */
export async function readRunTableDay(
  store: StoreReader,
  run: RunRef,
  day: string,
  { of = 'rows', after, limit, about }: RunPageOf,
): Promise<RunPage<EventRow, RunRowKey>> {
  const order = 'timestamp, received_at, event, cityHash64(distinct_id), uuid';
  const beyond = `WHERE (${order}) > (fromUnixTimestamp64Micro({micros:Int64}, 'UTC'),
  fromUnixTimestamp64Micro({place:Int64}, 'UTC'), {event:String}, cityHash64({id:String}), {uuid:UUID})`;
  const rows = await store.query<PageRow>(
    `SELECT ${rowColumns} FROM ${eventsOf(run, of)} PREWHERE ${ofDay}${about === undefined ? '' : ` AND ${isAbout}`}
${after === undefined ? '' : beyond} ORDER BY ${order} LIMIT {limit:UInt32}`,
    { project: run.projectId, day, limit, ...(after && paramsOf(after)), ...(about && aboutParams(about)) },
  );
  const items = rows.map((row) => Object.assign(rowOf(run.projectId, row), { importRun: run.runId }));
  return { items, next: items.length === limit ? items.at(-1) : undefined };
}

/** Facts of some months (202403). With `rows`, the events themselves serve as their facts. */
export interface FactsOf {
  readonly from: RunTable;
  readonly months: readonly number[];
}

/** Events with some names, and those that may have a property (a value may look like one). */
export interface EventsAbout {
  readonly events: readonly string[];
  readonly property: string;
}

/** Lists the days with such events, ascending. */
export async function runTableDaysAbout(
  store: StoreReader,
  run: RunRef,
  { from, months }: FactsOf,
  about: EventsAbout,
): Promise<string[]> {
  const days = await store.query<{ day_text: string }>(
    `SELECT DISTINCT toString(day) AS day_text FROM ${rowsOf(run, from)} PREWHERE ${ofMonths} AND ${isAbout} ORDER BY day_text`,
    { project: run.projectId, months, ...aboutParams(about) },
  );
  return days.map(({ day_text: day }) => day);
}

export interface NamedEvent {
  readonly event: string;
  readonly distinct_id: string;
  readonly properties: string;
}

/** Reads events with these names, in any order, by page from 0. `next` is `undefined` after the last page. */
export async function runTableNamed(
  store: StoreReader,
  run: RunRef,
  { from, months }: FactsOf,
  { names, page }: { readonly names: readonly string[]; readonly page: number },
): Promise<{ readonly events: readonly NamedEvent[]; readonly next: number | undefined }> {
  const where = `PREWHERE ${ofMonths} AND event IN {names:Array(String)}`;
  const params = { project: run.projectId, months, names };
  const [found] = await store.query<{ found: string }>(
    `SELECT count() AS found FROM ${rowsOf(run, from)} ${where}`,
    params,
  );
  const pages = Math.max(1, Math.ceil(Number(found?.found ?? 0) / namedPerPage));
  const events = await store.query<NamedEvent>(
    `SELECT event, distinct_id, properties FROM ${rowsOf(run, from)} ${where} AND cityHash64(uuid) % {pages:UInt32} = {page:UInt32}`,
    { ...params, pages, page },
  );
  return { events, next: page + 1 < pages ? page + 1 : undefined };
}

const namedPerPage = 100_000;

/** Reads the events of these names and a day as `importedEventsNamed` does from `events`. */
export async function runTableEvents(
  store: StoreReader,
  run: RunRef,
  where: { readonly day: string; readonly events: readonly string[]; readonly after?: NamedIdentityKey | undefined },
  page: { readonly limit: number; readonly contents: ContentsKind },
): Promise<IdentityPage> {
  return await importedEventsNamed(store, run.projectId, where, page, eventsOf(run));
}

/** Reads the events of a name on all days, including equal identities, as `importedEvents` does from `events`. */
export async function runTableRowsNamed(
  store: StoreReader,
  run: RunRef,
  where: { readonly event: string; readonly after?: IdentityKey | undefined },
  limit: number,
): Promise<IdentityPage> {
  return await importedEvents(store, run.projectId, where, { limit, contents: 'crc32' }, rowsOf(run));
}

/** Reads properties as `importedProperties` does from `events`. */
export async function runTableProperties(
  store: StoreReader,
  run: RunRef,
  where: { readonly day: string; readonly event: string; readonly uuids: readonly string[] },
): Promise<ImportedProperties[]> {
  return await importedProperties(store, run.projectId, where, eventsOf(run));
}

/** Beyond this size, groups are kept on disk. */
const groupBytesMax = 64 * 1024 * 1024;

/**
 * Checks whether `events` has rows of a month (202403) from another run or capture that count as received after the first row of this
 * run. If they are the same events, attaching would hide them.
 */
export async function hasLaterRows(store: StoreReader, run: RunRef, month: number): Promise<boolean> {
  const ofMonth = `PREWHERE ${ofProject} AND toYYYYMM(day) = {month:UInt32}`;
  const rows = await store.query(
    `SELECT 1 AS found FROM events ${ofMonth}
WHERE received_at >= (SELECT min(received_at) FROM ${rowsOf(run)} ${ofMonth}) AND import_run != {run:String} LIMIT 1`,
    { project: run.projectId, run: run.runId, month },
  );
  return rows.length > 0;
}

/** Checks whether `events` has rows of a month of this run that were sent rather than attached: they count as received when they were sent. */
export async function hasSentRows(store: StoreReader, run: RunRef, month: number): Promise<boolean> {
  const ofMonth = `PREWHERE ${ofProject} AND toYYYYMM(day) = {month:UInt32}`;
  const rows = await store.query(
    `SELECT 1 AS found FROM events ${ofMonth}
WHERE import_run = {run:String} AND received_at > (SELECT max(received_at) FROM ${rowsOf(run)} ${ofMonth}) LIMIT 1`,
    { project: run.projectId, run: run.runId, month },
  );
  return rows.length > 0;
}

const ofProject = 'project_id = {project:Int32}';
const ofDay = `${ofProject} AND day = toDate32({day:String})`;

const ofMonths = `${ofProject} AND toYYYYMM(day) IN {months:Array(UInt32)}`;
/** Keys in JSON that the check has not written may contain escapes. */
const isAbout = `(event IN {events:Array(String)} OR position(properties, {property:String}) > 0 OR position(properties, '\\\\u') > 0)`;
const aboutParams = ({ events, property }: EventsAbout) => ({ events, property: `"${property}"` });

const rowsOf = (run: RunRef, table: RunTable = 'rows'): string => runTableName({ run, table });
const eventsOf = (run: RunRef, table?: RunTable): string => `${rowsOf(run, table)} FINAL`;

function paramsOf({ timestampMicros, receivedAtMicros, event, distinctId: id, uuid }: RunRowKey) {
  return { micros: BigInt(timestampMicros), place: BigInt(receivedAtMicros), event, id, uuid };
}
