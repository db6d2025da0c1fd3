import type { EventStore } from './eventstore.ts';
import { filterConditions, timeConditions, type EventFilter } from './filters.ts';

export type CountInterval = 'hour' | 'day' | 'week' | 'month';

export interface EventCount {
  /** Start of the interval, µs since the epoch, UTC; weeks start on Monday. */
  readonly startMicros: bigint;
  readonly event: string;
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

/**
 * Whole numbers, because the engine's own functions for this wrap around before 1970 and after 2106. The divisor is signed
 * because positiveModulo is wrong for a negative number and an unsigned 64-bit one.
 */
const micros = 'toUnixTimestamp64Micro(timestamp)';
const bucketSql: Readonly<Record<CountInterval, string>> = {
  hour: `${micros} - positiveModulo(${micros}, toInt64(${hour}))`,
  day: `${micros} - positiveModulo(${micros}, toInt64(${day}))`,
  // Day 0 was a Thursday.
  week: `${micros} - positiveModulo(${micros} + ${3 * day}, toInt64(${7 * day}))`,
  month: 'toInt64(toYYYYMM(toDate32(timestamp)))',
};

/** How many events per interval, name and kind, each event once. Throws TooManyCountsError beyond 50,000 rows. */
export async function countEvents(
  store: EventStore,
  projectId: number,
  interval: CountInterval,
  filter: EventFilter,
): Promise<EventCount[]> {
  const base = filterConditions(projectId, filter);
  const time = timeConditions('timestamp', filter.after, filter.before);
  const rows = await store.query<{ bucket: string; event: string; historical_migration: boolean; events: string }>(
    `SELECT ${bucketSql[interval]} AS bucket, event, historical_migration, count() AS events
FROM events FINAL
WHERE ${[...base.sql, ...time.sql].join(' AND ')}
GROUP BY bucket, event, historical_migration
ORDER BY bucket, event, historical_migration
LIMIT ${countRowsMax + 1}`,
    { ...base.params, ...time.params },
  );
  if (rows.length > countRowsMax) {
    throw new TooManyCountsError(
      `The answer would have more than ${countRowsMax} rows; ask for a longer interval, one event or a shorter time.`,
    );
  }
  return rows.map((row) => ({
    startMicros: interval === 'month' ? monthStart(Number(row.bucket)) : BigInt(row.bucket),
    event: row.event,
    historical: row.historical_migration,
    count: Number(row.events),
  }));
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
