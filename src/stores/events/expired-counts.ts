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

/** Counts what has expired, by the events' day. @throws TooManyNamesError beyond 50,000 months and names */
export async function countExpired(store: StoreReader, expiry: ProjectExpiry): Promise<ExpiredCell[]> {
  const rows = await store.query<{ month: number; event: string; historical: boolean; events: string }>(
    `SELECT toYYYYMM(day) AS month, toString(event) AS event, historical_migration AS historical, count() AS events
FROM events FINAL
WHERE ${expiredSql(expiry)}
GROUP BY month, event, historical
ORDER BY month, event, historical
LIMIT ${cellsMax + 1}`,
  );
  if (rows.length > cellsMax) {
    throw new TooManyNamesError(
      `More than ${cellsMax} combinations of month and name have expired, too many for one preview; ` +
        'set more days first, and fewer once those events are removed.',
    );
  }
  const bytesPerRow = await readBytesPerRow(store);
  return rows.map(({ month, event, historical, events }) => {
    const count = Number(events);
    const size = bytesPerRow.get(Number(month)) ?? bytesPerRowDefault;
    return { month: Number(month), event, historical, events: count, bytes: Math.round(count * size) };
  });
}

/** Counts events that have expired by one policy and not by another. */
export async function countNewlyExpired(
  store: StoreReader,
  expiry: ProjectExpiry,
  current: ProjectExpiry,
): Promise<number> {
  const [row] = await store.query<{ events: string }>(
    `SELECT count() AS events FROM events FINAL WHERE ${expiredSql(expiry)} AND NOT ${expiredSql(current)}`,
  );
  return Number(row?.events ?? 0);
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
