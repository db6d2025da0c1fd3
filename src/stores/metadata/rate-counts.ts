import { sql } from 'kysely';
import { readDatabaseTime } from './database-clock.ts';
import type { Metadata } from './database.ts';

export interface CallerCount {
  readonly caller: string;
  readonly windowMs: number;
  /** Requests to add. */
  readonly more: number;
}

export interface CallerTotal {
  readonly caller: string;
  readonly windowMs: number;
  /** Requests of all processes in the current window. */
  readonly used: number;
  readonly startedMsAgo: number;
}

const rowsPerQuery = 500;

/** Adds the counts of one process and returns the sums of all. A window restarts when its time has ended. */
export async function addCallerCounts(
  db: Metadata,
  scope: string,
  counts: readonly CallerCount[],
): Promise<CallerTotal[]> {
  const totals: CallerTotal[] = [];
  // All processes use the same order, so that two never wait for each other's rows.
  const sorted = counts.toSorted((a, b) => (a.caller < b.caller ? -1 : 1) || a.windowMs - b.windowMs);
  for (let from = 0; from < sorted.length; from += rowsPerQuery) {
    const now = await readDatabaseTime(db);
    const rows = sorted.slice(from, from + rowsPerQuery).map(({ caller, windowMs, more }) => ({
      scope,
      caller,
      window_ms: windowMs,
      started_at: now,
      used: more,
    }));
    const hasEnded = sql<boolean>`rate_counts.started_at + rate_counts.window_ms <= excluded.started_at`;
    const stored = await db
      .insertInto('rate_counts')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['scope', 'caller', 'window_ms']).doUpdateSet({
          used: sql`case when ${hasEnded} then excluded.used else rate_counts.used + excluded.used end`,
          started_at: sql`case when ${hasEnded} then excluded.started_at else rate_counts.started_at end`,
        }),
      )
      .returning(['caller', 'window_ms', 'used', 'started_at'])
      .execute();
    totals.push(
      ...stored.map(({ caller, window_ms: windowMs, used, started_at: startedAt }) => ({
        caller,
        windowMs,
        used,
        startedMsAgo: now - startedAt,
      })),
    );
  }
  return totals;
}

/** Removes windows that have ended. */
export async function pruneCallerCounts(db: Metadata): Promise<void> {
  const now = await readDatabaseTime(db);
  await db
    .deleteFrom('rate_counts')
    .where((eb) => eb(eb('started_at', '+', eb.ref('window_ms')), '<', now))
    .execute();
}
