import { sql, type RawBuilder } from 'kysely';
import { hasStoreAlone, type Queries } from './queries.ts';

/**
 * The one clock that all processes on a store share: clocks of machines may be hours apart. What one process writes for another
 * to act on (leases, when a job is due, ticks of schedules) is told by it.
 *
 * The time is read before the statement that uses it. Late as that may run, it can then only give a shorter lease, and take
 * nothing whose lease had not ended.
 */
export interface DatabaseClock {
  /** ms since the epoch. */
  now(): Promise<number>;
}

export function createDatabaseClock(db: Queries): DatabaseClock {
  return { now: () => readDatabaseTime(db) };
}

const sqliteNow = sql<number>`cast(unixepoch('now', 'subsec') * 1000 as integer)`;
// Not the time of the transaction, which stands still while it waits for locks.
const postgresNow = sql<number>`cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)`;

/** The time of the database within a statement, ms since the epoch. */
export function databaseTime(db: Queries): RawBuilder<number> {
  return hasStoreAlone(db) ? sqliteNow : postgresNow;
}

/** ms since the epoch by the clock of the database. */
export async function readDatabaseTime(db: Queries): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${databaseTime(db)} as now`.execute(db);
  const now = Number(rows[0]?.now);
  if (!Number.isSafeInteger(now)) throw new Error(`expected the time of the metadata store, got: ${rows[0]?.now}`);
  return now;
}
