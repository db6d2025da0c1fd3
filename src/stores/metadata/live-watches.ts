/** The live stream between processes: the readers of each process, and what other processes have seen for them. */
import { readDatabaseTime } from './database-clock.ts';
import type { Metadata } from './database.ts';

export interface WatchRow {
  readonly processId: string;
  readonly watchId: number;
  /** JSON. */
  readonly watch: string;
}

/** Records the readers of a process for the duration of the lease. */
export async function keepWatches(
  db: Metadata,
  processId: string,
  watches: readonly Omit<WatchRow, 'processId'>[],
  leaseMs: number,
): Promise<void> {
  const leaseUntil = (await readDatabaseTime(db)) + leaseMs;
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('live_watches').where('process_id', '=', processId).execute();
    if (watches.length === 0) return;
    const rows = watches.map(({ watchId, watch }) => ({
      process_id: processId,
      watch_id: watchId,
      watch,
      lease_until: leaseUntil,
    }));
    await tx.insertInto('live_watches').values(rows).execute();
  });
}

/** Lists the readers of other processes. */
export async function listWatchesElsewhere(db: Metadata, processId: string): Promise<WatchRow[]> {
  const rows = await db.selectFrom('live_watches').selectAll().where('process_id', '!=', processId).execute();
  if (rows.length === 0) return [];
  const now = await readDatabaseTime(db);
  return rows
    .filter(({ lease_until: until }) => until > now)
    .map(({ process_id: owner, watch_id: watchId, watch }) => ({ processId: owner, watchId, watch }));
}

/** Posts sightings for the readers of another process. */
export async function postSightings(db: Metadata, processId: string, sightings: string): Promise<void> {
  const seenAt = await readDatabaseTime(db);
  await db.insertInto('live_sightings').values({ process_id: processId, sightings, seen_at: seenAt }).execute();
}

/** Takes and removes what others have seen since the last call, oldest first. */
export async function takeSightings(db: Metadata, processId: string): Promise<string[]> {
  const rows = await db
    .deleteFrom('live_sightings')
    .where('process_id', '=', processId)
    .returning(['id', 'sightings'])
    .execute();
  return rows.toSorted((one, other) => one.id - other.id).map(({ sightings }) => sightings);
}

/** Removes what a dead process has left or can no longer take. */
export async function pruneLive(db: Metadata, olderThanMs: number): Promise<void> {
  const before = (await readDatabaseTime(db)) - olderThanMs;
  await db.deleteFrom('live_sightings').where('seen_at', '<', before).execute();
  await db.deleteFrom('live_watches').where('lease_until', '<', before).execute();
}
