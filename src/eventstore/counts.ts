import { createLocalOffset } from '../base/local-time.ts';
import type { EventStore } from './eventstore.ts';
import { filterConditions, timeConditions, type EventFilter } from './filters.ts';

export type CountInterval = 'hour' | 'day' | 'week' | 'month';

export interface EventCount {
  /** Start of the interval, µs since the epoch; weeks start on Monday. */
  readonly startMicros: bigint;
  /** Null: all but the most frequent ones together. */
  readonly event: string | null;
  readonly historical: boolean;
  readonly count: number;
}

/** More rows than one answer should hold; the message says what to ask instead. */
export class TooManyCountsError extends Error {
  override name = 'TooManyCountsError';
}

const countRowsMax = 50_000;
const hour = 3_600_000_000;
const day = 24 * hour;

/** How counts are put together. */
export interface CountOptions {
  /** IANA name; default UTC. */
  readonly timeZone?: string | undefined;
  /** Only so many events by name, the most frequent ones; the others together. Default: all by name. */
  readonly top?: number | undefined;
}

const utcMicros = 'toUnixTimestamp64Micro(timestamp)';
/** What the clocks of the zone show, as if they showed UTC. */
const localMicros = `(${utcMicros} + toInt64(timezoneOffset(toTimeZone(timestamp, {zone:String}))) * 1000000)`;

/**
 * Whole numbers, because the engine's own functions for this wrap around before 1970 and after 2106. The divisor is signed
 * because positiveModulo is wrong for a negative number and an unsigned 64-bit one. Hours are UTC's, where the zone's begin
 * (half past, in some): of two that clocks show alike each has its own. The others are as clocks show them.
 */
function bucketSql(interval: CountInterval, micros: string): string {
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

/** How many events per interval, name and kind, each event once. Throws TooManyCountsError beyond 50,000 rows. */
export async function countEvents(
  store: EventStore,
  projectId: number,
  interval: CountInterval,
  filter: EventFilter,
  { timeZone, top }: CountOptions = {},
): Promise<EventCount[]> {
  const base = filterConditions(projectId, filter);
  const time = timeConditions('timestamp', filter.after, filter.before);
  const where = [...base.sql, ...time.sql].join(' AND ');
  // No event has an empty name.
  const name = top === undefined ? 'event' : `if(event IN (${mostFrequentSql(where)}), toString(event), '')`;
  const bucket = bucketSql(interval, timeZone === undefined ? utcMicros : localMicros);
  const rows = await store.query<{ bucket: string; name: string; historical_migration: boolean; events: string }>(
    `SELECT ${bucket} AS bucket, ${name} AS name, historical_migration, count() AS events
FROM events FINAL
WHERE ${where}
GROUP BY bucket, name, historical_migration
ORDER BY bucket, name, historical_migration
LIMIT ${countRowsMax + 1}`,
    {
      ...base.params,
      ...time.params,
      ...(timeZone === undefined ? {} : { zone: timeZone }),
      ...(top === undefined ? {} : { top }),
    },
  );
  if (rows.length > countRowsMax) {
    throw new TooManyCountsError(
      `The answer would have more than ${countRowsMax} rows; ask for a longer interval, one event or a shorter time.`,
    );
  }
  const startOf = intervalStart(interval, timeZone);
  return rows.map((row) => ({
    startMicros: startOf(row.bucket),
    event: row.name === '' ? null : row.name,
    historical: row.historical_migration,
    count: Number(row.events),
  }));
}

/** Duplicates count here: it only decides who is named. */
function mostFrequentSql(where: string): string {
  return `SELECT event FROM events WHERE ${where} GROUP BY event ORDER BY count() DESC, event LIMIT {top:UInt32}`;
}

/** The start of a bucket in µs of UTC. */
function intervalStart(interval: CountInterval, timeZone: string | undefined): (bucket: string) => bigint {
  const shown = (bucket: string): bigint => (interval === 'month' ? monthStart(Number(bucket)) : BigInt(bucket));
  if (timeZone === undefined || interval === 'hour') return shown;
  const offsetOf = createLocalOffset(timeZone);
  return (bucket) => {
    const local = shown(bucket);
    return local - BigInt(offsetOf(Number(local / 1000n))) * 1000n;
  };
}

/** `yyyymm` as a number. */
function monthStart(month: number): bigint {
  const time = new Date(0);
  time.setUTCFullYear(Math.floor(month / 100), (month % 100) - 1, 1);
  return BigInt(time.getTime()) * 1000n;
}

export interface DayUsage {
  /** `2026-11-20`, the day on which the events were received, UTC. */
  readonly date: string;
  readonly standard: number;
  readonly historical: number;
}

/** Events received per day, each counted once, on the day of its first arrival. `after` inclusive, `before` exclusive, µs. */
export async function usageByDay(
  store: EventStore,
  projectId: number,
  range: Pick<EventFilter, 'after' | 'before'>,
): Promise<DayUsage[]> {
  const time = timeConditions('received_at', range.after, range.before);
  const rows = await store.query<{ date: string; standard: string; historical: string }>(
    `SELECT toString(toDate32(received_at)) AS date,
  countIf(NOT historical_migration) AS standard, countIf(historical_migration) AS historical
FROM events FINAL
WHERE ${['project_id = {project:Int32}', ...time.sql].join(' AND ')}
GROUP BY date
ORDER BY date`,
    { project: projectId, ...time.params },
  );
  return rows.map((row) => ({
    date: row.date,
    standard: Number(row.standard),
    historical: Number(row.historical),
  }));
}
