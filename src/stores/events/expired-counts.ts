import { expiredSql, type ProjectExpiry } from './expired-rows.ts';
import { StoreDeniedError, type StoreReader } from './eventstore.ts';

/** Expired events of one month, name and kind. */
export interface ExpiredCell {
  /** 202403 is March 2024. */
  readonly month: number;
  readonly event: string;
  readonly historical: boolean;
  /** Each counted once. */
  readonly events: number;
  /** Of these, events that the current policy keeps. */
  readonly newly: number;
  /** Approximate, on the disk of one replica. */
  readonly bytes: number;
}

const cellsMax = 50_000;
/** Used where the sizes of months are unknown. */
const bytesPerRowDefault = 100;

/** The response would have too many names; the message states what to do. */
export class TooManyNamesError extends Error {
  override name = 'TooManyNamesError';
}

/**
 * Counts what has expired, by the events' month; one month after another, because duplicates are merged in memory.
 * @param current what has expired by the current policy
 * @throws TooManyNamesError beyond 50,000 months and names
 */
export async function countExpired(
  store: StoreReader,
  expiry: ProjectExpiry,
  current: ProjectExpiry,
): Promise<ExpiredCell[]> {
  const cells: ExpiredCell[] = [];
  const months = await monthsWithExpired(store, [expiry]);
  const bytesPerRow = months.length === 0 ? undefined : await readBytesPerRow(store);
  for (const month of months) {
    const rows = await store.query<{ name: string; historical: boolean; events: string; newly: string }>(
      `SELECT toString(event) AS name, historical_migration AS historical, count() AS events,
  countIf(NOT ${expiredSql(current)}) AS newly
FROM events FINAL
WHERE toYYYYMM(day) = ${month} AND ${expiredSql(expiry)}
GROUP BY name, historical ORDER BY name, historical LIMIT ${cellsMax + 1}`,
    );
    if (cells.length + rows.length > cellsMax) throw tooManyNames();
    const size = bytesPerRow?.get(month) ?? bytesPerRowDefault;
    for (const { name: event, historical, events, newly } of rows) {
      const count = Number(events);
      const bytes = Math.round(count * size);
      cells.push({ month, event, historical, events: count, newly: Number(newly), bytes });
    }
  }
  return cells;
}

function tooManyNames(): TooManyNamesError {
  return new TooManyNamesError(
    `More than ${cellsMax} combinations of month and name have expired, too many for one preview; ` +
      'set more days first, and fewer once those events are removed.',
  );
}

/** Returns months with expired rows, ascending. */
export async function monthsWithExpired(store: StoreReader, expiries: readonly ProjectExpiry[]): Promise<number[]> {
  const months = new Set<number>();
  for (const expiry of expiries) {
    const rows = await store.query<{ month: number }>(
      `SELECT DISTINCT toYYYYMM(day) AS month FROM events WHERE ${expiredSql(expiry)}`,
    );
    for (const { month } of rows) months.add(Number(month));
  }
  return [...months].toSorted((a, b) => a - b);
}

/** Returns the mean size of rows by month. On a cluster the server that answers has a sample of them. */
async function readBytesPerRow(store: StoreReader): Promise<ReadonlyMap<number, number>> {
  try {
    const rows = await store.query<{ month: string; size: number }>(
      `SELECT partition_id AS month, sum(bytes_on_disk) / sum(rows) AS size FROM system.parts
WHERE database = currentDatabase() AND table IN ('events', 'events_local') AND active AND rows > 0 GROUP BY month`,
    );
    return new Map(rows.map(({ month, size }) => [Number(month), Number(size)]));
  } catch (error) {
    if (error instanceof StoreDeniedError) return new Map();
    throw error;
  }
}
