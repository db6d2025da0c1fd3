import type { RunRef, StoreReader } from './eventstore.ts';
import { contentHashes, type ContentsKind } from './import-reads.ts';
import { runTableName } from './run-table-names.ts';
import type { DayRange } from './run-table-reads.ts';

/**
 * Compares a run's table with `events`, both of which the store has, without listing events that are alike. One query costs tens of
 * milliseconds however few events it finds, so days are compared together. The engine holds the identities of a query in memory up to
 * a limit, then on disk.
 */

/**
 * - `same`: `events` shows the run's own row, with the same time and properties.
 * - `altered`: the run's own row, with the same time and other properties.
 * - `changed`: the run's own row, with another time.
 * - `other`: the row of another run or of live capture.
 * - `missing`: only the table has the event.
 * - `unexpected`: only `events` has it, as the run's own.
 */
export type ComparedKind = 'same' | 'altered' | 'changed' | 'other' | 'missing' | 'unexpected';

export interface ComparedDays extends DayRange {
  readonly contents: ContentsKind;
  /** Of `of` shares of the uuids, only this one. */
  readonly share?: { readonly index: number; readonly of: number } | undefined;
}

/** Events of a day and name that compare alike. */
export interface ComparedCount {
  readonly day: string;
  readonly event: string;
  readonly kind: ComparedKind;
  /** Run whose row `events` shows; empty for live capture, and without such a row. */
  readonly runId: string;
  readonly count: number;
  /** Of `count`, events whose time differs. */
  readonly otherTimes: number;
  /** Of `count`, events whose contribution to the checksum of contents differs. */
  readonly otherContents: number;
}

/** Counts all events of these days by day, name and result. */
export async function comparedCounts(
  store: StoreReader,
  run: RunRef,
  days: ComparedDays,
): Promise<readonly ComparedCount[]> {
  type Row = Record<'day_text' | 'event' | 'kind' | 'run' | 'found' | 'times' | 'contents', string>;
  const rows = await store.query<Row>(
    `SELECT toString(day) AS day_text, event, kind, run, count() AS found,
  countIf(expected_micros != stored_micros) AS times, countIf(expected_content != stored_content) AS contents
FROM (${comparedSql(run, days)}) GROUP BY day, event, kind, run ORDER BY day, event, kind, run ${settings}`,
    paramsOf(run, days),
  );
  return rows.map(({ day_text: day, event, kind, run: runId, found, times, contents }) => {
    const [count, otherTimes, otherContents] = [Number(found), Number(times), Number(contents)];
    return { day, event, kind: kind as ComparedKind, runId, count, otherTimes, otherContents };
  });
}

/** An event that is not stored as expected, or is stored with another time. */
export interface DifferingEvent {
  readonly day: string;
  readonly event: string;
  readonly uuid: string;
  readonly distinctId: string;
  readonly kind: Exclude<ComparedKind, 'same'>;
  readonly runId: string;
  /** µs since the epoch; of no meaning for an `unexpected` event. */
  readonly expectedMicros: bigint;
  /** The same for a `missing` one. */
  readonly storedMicros: bigint;
}

/** Lists events that differ, by day and name; those of others only with another time, `altered` ones on request. */
export async function differingEvents(
  store: StoreReader,
  run: RunRef,
  days: ComparedDays,
  { altered }: { readonly altered: boolean },
): Promise<readonly DifferingEvent[]> {
  type Row = Record<'day_text' | 'event' | 'uuid_text' | 'distinct_id' | 'kind' | 'run', string> &
    Record<'expected_micros' | 'stored_micros', string>;
  const kinds = `'missing', 'unexpected', 'changed'${altered ? ", 'altered'" : ''}`;
  const rows = await store.query<Row>(
    `SELECT toString(day) AS day_text, event, toString(uuid) AS uuid_text, distinct_id, kind, run, expected_micros, stored_micros
FROM (${comparedSql(run, days)})
WHERE kind IN (${kinds}) OR (kind = 'other' AND expected_micros != stored_micros)
ORDER BY day, event, cityHash64(distinct_id), uuid, distinct_id ${settings}`,
    paramsOf(run, days),
  );
  return rows.map((row) => ({
    day: row.day_text,
    event: row.event,
    uuid: row.uuid_text,
    distinctId: row.distinct_id,
    kind: row.kind as DifferingEvent['kind'],
    runId: row.run,
    expectedMicros: BigInt(row.expected_micros),
    storedMicros: BigInt(row.stored_micros),
  }));
}

/** Beyond this size, identities are kept on disk. */
const settings = `SETTINGS max_bytes_before_external_group_by = ${64 * 1024 * 1024}`;

/** Selects the events of both tables by identity. Both sides use FINAL, so each has an identity at most once. */
function comparedSql(run: RunRef, { contents, share }: ComparedDays): string {
  const table = runTableName({ run, table: 'rows' });
  const where = `PREWHERE project_id = {project:Int32} AND day >= toDate32({from:String}) AND day <= toDate32({to:String})${
    share === undefined ? '' : ' AND cityHash64(uuid) % {shares:UInt32} = {share:UInt32}'
  }`;
  const side = (isExpected: boolean): string =>
    `day, toString(event) AS event, distinct_id, uuid, toUnixTimestamp64Micro(timestamp) AS micros,
    ${contentHashes[contents]} AS content, toString(import_run) AS by, ${isExpected} AS is_expected`;
  return `SELECT day, event, distinct_id, uuid, max(is_expected) AS has_expected, min(is_expected) = 0 AS has_stored,
  maxIf(by, NOT is_expected) AS run,
  maxIf(micros, is_expected) AS expected_micros, maxIf(micros, NOT is_expected) AS stored_micros,
  maxIf(content, is_expected) AS expected_content, maxIf(content, NOT is_expected) AS stored_content,
  multiIf(NOT has_stored, 'missing', NOT has_expected, 'unexpected', run != {run:String}, 'other',
    expected_micros != stored_micros, 'changed', expected_content != stored_content, 'altered', 'same') AS kind
FROM (
  SELECT ${side(true)} FROM ${table} FINAL ${where}
  UNION ALL
  SELECT ${side(false)} FROM events FINAL ${where}
  WHERE import_run = {run:String} OR uuid GLOBAL IN (SELECT uuid FROM ${table} ${where})
)
GROUP BY day, event, distinct_id, uuid
HAVING has_expected OR run = {run:String}`;
}

function paramsOf({ projectId, runId }: RunRef, { from, to, share }: ComparedDays) {
  const of = { project: projectId, run: runId, from, to };
  return share === undefined ? of : { ...of, share: share.index, shares: share.of };
}
