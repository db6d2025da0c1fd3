import { sql, type RawBuilder } from 'kysely';
import { hasStoreAlone, type Queries } from './queries.ts';

/**
 * The clock that all processes on a store share: clocks of machines may be hours apart. Times that one process writes for another
 * (leases, due times of jobs, ticks of schedules) use it.
 *
 * The time is read before the statement that uses it. If that runs late, it can only grant a shorter lease, and never claim anything
 * whose lease had not ended.
 */
export interface DatabaseClock {
  /** ms since the epoch. */
  now(): Promise<number>;
}

export function createDatabaseClock(db: Queries): DatabaseClock {
  return { now: () => readDatabaseTime(db) };
}

const sqliteNow = sql<number>`cast(unixepoch('now', 'subsec') * 1000 as integer)`;
// Not the time of the transaction, which does not advance while it waits for locks.
const postgresNow = sql<number>`cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)`;

/** Returns the database's time within a statement, ms since the epoch. */
export function databaseTime(db: Queries): RawBuilder<number> {
  return hasStoreAlone(db) ? sqliteNow : postgresNow;
}

/** Returns the database's time, ms since the epoch. */
export async function readDatabaseTime(db: Queries): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${databaseTime(db)} as now`.execute(db);
  const now = Number(rows[0]?.now);
  if (!Number.isSafeInteger(now)) throw new Error(`expected the time of the metadata store, got: ${rows[0]?.now}`);
  return now;
}
