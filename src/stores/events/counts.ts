import type { EventStore, StoreReader } from './eventstore.ts';
import { filterConditions, timeConditions, type EventFilter } from './filters.ts';
import { countRowsMax, KeptCounts, summed, type CountCell, type CountQuery } from './kept-counts.ts';
import { createLocalOffset } from '../../base/local-time.ts';

export interface EventCount {
  /** Start of the interval, µs since the epoch; weeks start on Monday. */
  readonly startMicros: bigint;
  /** `null` combines all except the most frequent events. */
  readonly event: string | null;
  readonly historical: boolean;
  readonly count: number;
}

/** The response would have too many rows; the message states how to narrow the request. */
export class TooManyCountsError extends Error {
  override name = 'TooManyCountsError';
}

/** How events are counted. */
export interface CountOptions {
  /** IANA name; default UTC. */
  readonly timeZone?: string | undefined;
  /** Number of most frequent events to count by name; the others are counted together. Default: all by name. */
  readonly top?: number | undefined;
  /** Earlier counts of this store. Default: none. */
  readonly kept?: KeptCounts | undefined;
}

/** Counts events per interval, name and kind, each event once. @throws TooManyCountsError beyond 50,000 rows */
export async function countEvents(
  store: EventStore,
  projectId: number,
  interval: CountInterval,
  filter: EventFilter,
  { timeZone, top, kept = new KeptCounts(store) }: CountOptions = {},
): Promise<EventCount[]> {
  const base = filterConditions(projectId, filter);
  const question: CountQuery = {
    bucket: bucketSql(interval, timeZone),
    name: 'toString(event)',
    where: { sql: base.sql, params: { ...base.params, ...(timeZone === undefined ? {} : { zone: timeZone }) } },
    time: { column: 'timestamp', after: filter.after, before: filter.before },
  };
  const found = await kept.count(question);
  const cells = found === undefined ? await countedAtOnce(store, question, top) : named(found, top);
  if (cells.length > countRowsMax) {
    throw new TooManyCountsError(
      `The response would have more than ${countRowsMax} rows; use a longer interval, one event or a shorter time.`,
    );
  }
  const startOf = intervalStart(interval, timeZone);
  return inOrder(cells).map(({ bucket, name, historical, count }) => ({
    startMicros: startOf(bucket),
    event: name === '' ? null : name,
    historical,
    count,
  }));
}

/** Counts all matching events with one query. */
async function countedAtOnce(
  store: StoreReader,
  { bucket, name, where, time }: CountQuery,
  top?: number,
): Promise<CountCell[]> {
  const bounds = timeConditions(time.column, time.after, time.before);
  const conditions = [...where.sql, ...bounds.sql].join(' AND ');
  // No event has an empty name.
  const topName = top === undefined ? name : `if(event IN (${mostFrequentSql(conditions)}), ${name}, '')`;
  const rows = await store.query<{ bucket: string; name: string; historical_migration: boolean; events: string }>(
    `SELECT ${bucket} AS bucket, ${topName} AS name, historical_migration, count() AS events
FROM events FINAL
WHERE ${conditions}
GROUP BY bucket, name, historical_migration
LIMIT ${countRowsMax + 1}`,
    { ...where.params, ...bounds.params, ...(top === undefined ? {} : { top }) },
  );
  return rows.map((row) => ({
    bucket: row.bucket,
    name: row.name,
    historical: row.historical_migration,
    count: Number(row.events),
  }));
}

/** Selects the most frequent names. Duplicates count, since this only decides which events are named. */
function mostFrequentSql(where: string): string {
  return `SELECT event FROM events WHERE ${where} GROUP BY event ORDER BY count() DESC, event LIMIT {top:UInt32}`;
}

/** Keeps the most frequent names and replaces the others by ''. */
function named(cells: readonly CountCell[], top: number | undefined): CountCell[] {
  if (top === undefined) return [...cells];
  const sums = new Map<string, number>();
  for (const { name, count } of cells) sums.set(name, (sums.get(name) ?? 0) + count);
  const rank = ranks([...sums.keys()]);
  const byCount = [...sums].sort(([a, one], [b, other]) => other - one || rank(a) - rank(b));
  const shown = new Set(byCount.slice(0, top).map(([name]) => name));
  return summed(cells.map((cell) => (shown.has(cell.name) ? cell : { ...cell, name: '' })));
}

/** Sorts by interval, then by name, by bytes as the engine does. */
function inOrder(cells: readonly CountCell[]): CountCell[] {
  const rank = ranks([...new Set(cells.map(({ name }) => name))]);
  const starts = new Map(cells.map(({ bucket }) => [bucket, BigInt(bucket)]));
  const startOf = (bucket: string): bigint => starts.get(bucket) ?? 0n;
  return cells.toSorted((one, other) => {
    const [left, right] = [startOf(one.bucket), startOf(other.bucket)];
    if (left !== right) return left < right ? -1 : 1;
    return rank(one.name) - rank(other.name) || Number(one.historical) - Number(other.historical);
  });
}

function ranks(names: readonly string[]): (name: string) => number {
  const bytes = names.map((name) => [name, Buffer.from(name)] as const);
  const sorted = bytes.sort(([, left], [, right]) => Buffer.compare(left, right));
  const places = new Map(sorted.map(([name], place) => [name, place]));
  return (name) => places.get(name) ?? 0;
}

export interface DayUsage {
  /** `2026-11-20`, the day on which the events were received, UTC. */
  readonly date: string;
  readonly standard: number;
  readonly historical: number;
}

/** Counts events received per day, each once, on the day of its first arrival. `after` inclusive, `before` exclusive, µs. */
export async function usageByDay(
  store: EventStore,
  projectId: number,
  range: Pick<EventFilter, 'after' | 'before'>,
  kept = new KeptCounts(store),
): Promise<DayUsage[]> {
  const question: CountQuery = {
    bucket: 'toString(toDate32(received_at))',
    name: "''",
    where: filterConditions(projectId, {}),
    time: { column: 'received_at', ...range },
  };
  const cells = (await kept.count(question)) ?? (await countedAtOnce(store, question));
  const days = new Map<string, { date: string; standard: number; historical: number }>();
  for (const { bucket: date, historical, count } of cells) {
    const usage = days.get(date) ?? { date, standard: 0, historical: 0 };
    usage[historical ? 'historical' : 'standard'] += count;
    days.set(date, usage);
  }
  return [...days.values()].sort((left, right) => (left.date < right.date ? -1 : 1));
}

type CountInterval = 'hour' | 'day' | 'week' | 'month';

const hour = 3_600_000_000;
const day = 24 * hour;

const utcMicros = 'toUnixTimestamp64Micro(timestamp)';
/** Local time of the zone, written as if it were UTC. */
const localMicros = `(${utcMicros} + toInt64(timezoneOffset(toTimeZone(timestamp, {zone:String}))) * 1000000)`;

/**
 * Whole numbers, because the engine's own functions for this wrap around before 1970 and after 2106. The divisor is signed
 * because positiveModulo is wrong for a negative number and an unsigned 64-bit one. Hours are those of UTC, so that two hours with the
 * same local time stay separate. The other intervals follow local time.
 */
function bucketSql(interval: CountInterval, timeZone: string | undefined): string {
  const micros = timeZone === undefined ? utcMicros : localMicros;
  switch (interval) {
    case 'hour':
      return `${utcMicros} - positiveModulo(${micros}, toInt64(${hour}))`;
    case 'day':
      return `${micros} - positiveModulo(${micros}, toInt64(${day}))`;
    case 'week':
      // Day 0 was a Thursday.
      return `${micros} - positiveModulo(${micros} + ${3 * day}, toInt64(${7 * day}))`;
    case 'month':
      return `toInt64(toYYYYMM(addDays(toDate32('1970-01-01'), intDiv(${micros} - positiveModulo(${micros}, toInt64(${day})), ${day}))))`;
  }
}

/** Returns a function that converts a bucket to its start in µs of UTC. */
function intervalStart(interval: CountInterval, timeZone: string | undefined): (bucket: string) => bigint {
  const shown = (bucket: string): bigint => (interval === 'month' ? monthStart(Number(bucket)) : BigInt(bucket));
  if (timeZone === undefined || interval === 'hour') return shown;
  const offsetOf = createLocalOffset(timeZone);
  return (bucket) => {
    const local = shown(bucket);
    return local - BigInt(offsetOf(Number(local / 1000n))) * 1000n;
  };
}

/** Converts a month, `yyyymm` as a number, to its start in µs. */
function monthStart(month: number): bigint {
  const time = new Date(0);
  time.setUTCFullYear(Math.floor(month / 100), (month % 100) - 1, 1);
  return BigInt(time.getTime()) * 1000n;
}
