/**
 * Leases on things without a row: the directory of a process, a file that is being uploaded, a task that one process at a time does.
 * Times are the database's.
 */
import { isoMicros } from '../../base/clock.ts';
import type { DatabaseClock } from './database-clock.ts';
import type { Metadata } from './database.ts';
import { keepLease } from './lease.ts';
import type { Queries } from './queries.ts';

export interface NamedLease {
  /** Such as `upload 1/events.jsonl`. */
  readonly name: string;
  /** Unique, and never reused by the same process. */
  readonly owner: string;
}

/** Returns false if another owner has the lease. `now` in ms, here and below. */
export async function takeLease(
  db: Queries,
  { name, owner }: NamedLease,
  now: number,
  leaseMs: number,
): Promise<boolean> {
  const lease_until = isoMicros(now + leaseMs);
  const taken = await db
    .insertInto('named_leases')
    .values({ name, owner, lease_until })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ owner, lease_until })
        .where((eb) =>
          eb.or([eb('named_leases.owner', '=', owner), eb('named_leases.lease_until', '<', isoMicros(now))]),
        ),
    )
    .returning('name')
    .executeTakeFirst();
  return taken !== undefined;
}

/** Returns false if the lease is lost. In a transaction no other owner can take it until that ends. */
export async function renewLease(
  db: Queries,
  { name, owner }: NamedLease,
  now: number,
  leaseMs: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('named_leases')
    .set({ lease_until: isoMicros(now + leaseMs) })
    .where('name', '=', name)
    .where('owner', '=', owner)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function dropLease(db: Queries, { name, owner }: NamedLease): Promise<void> {
  await db.deleteFrom('named_leases').where('name', '=', name).where('owner', '=', owner).execute();
}

/** Returns which of these names are held, and removes all expired leases. */
export async function heldLeases(db: Queries, names: readonly string[], now: number): Promise<ReadonlySet<string>> {
  await db.deleteFrom('named_leases').where('lease_until', '<', isoMicros(now)).execute();
  if (names.length === 0) return new Set();
  const rows = await db.selectFrom('named_leases').select('name').where('name', 'in', names).execute();
  return new Set(rows.map(({ name }) => name));
}

export interface HoldLeaseDeps {
  readonly db: Metadata;
  readonly clock: DatabaseClock;
  readonly leaseMs: number;
  readonly onLost: () => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Takes the lease and renews it until the returned function releases it. Resolves with undefined if another owner has it. */
export async function holdLease(deps: HoldLeaseDeps, lease: NamedLease): Promise<(() => Promise<void>) | undefined> {
  const { db, clock, leaseMs } = deps;
  if (!(await takeLease(db, lease, await clock.now(), leaseMs))) return undefined;
  const stop = keepLease({
    ...deps,
    renew: async () => renewLease(db, lease, await clock.now(), leaseMs),
    // Another owner may take it from then on.
    lostAfterMs: leaseMs,
  });
  return async () => {
    await stop();
    await dropLease(db, lease);
  };
}
