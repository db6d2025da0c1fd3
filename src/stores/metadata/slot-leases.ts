/**
 * Leases of slots: workers of several processes share them. All times are the database's; a worker's own clock only tells it how
 * long ago it asked.
 *
 * | a slot is      | owner  | lease_until  | who may take it                |
 * | -------------- | ------ | ------------ | ------------------------------ |
 * | free           | null   | 0            | everybody                      |
 * | held           | worker | in future    | nobody                         |
 * | left behind    | worker | in the past  | everybody                      |
 */
import { sql } from 'kysely';
import { databaseTime } from './database-clock.ts';
import type { Metadata } from './database.ts';
import { hasStoreAlone, type Queries } from './queries.ts';
import { idleLimit, type SlotHold } from './slots.ts';

/** The store was made for another number of slots. */
export class SlotCountError extends Error {
  override name = 'SlotCountError';
}

export interface LeaseOptions {
  /** Id of the worker. */
  readonly owner: string;
  readonly leaseMs: number;
}

/** Those who share the slots, and which of them a worker is, from 0. */
export interface Workers {
  readonly count: number;
  readonly rank: number;
}

const lanes = ['live', 'historical'] as const;

/**
 * Makes the slots of a new cluster, 0 … count - 1, each with cursors at the start of the log; a second time it changes nothing.
 * Errors: SlotCountError, when there are others.
 */
export async function makeSlots(db: Metadata, count: number): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // Several processes may start at once: the first one makes them.
    await tx.updateTable('slots').set({ slot: 0 }).where('slot', '=', 0).execute();
    const found = (await tx.selectFrom('slots').select('slot').execute()).length;
    if (found === count) return;
    if (found !== 1 || (await isBegun(tx))) {
      const instead =
        found === 1
          ? 'the store is that of one machine; take it along with `millrace move`, or use an empty database'
          : `the number is fixed when a cluster is made; set MILLRACE_SLOTS to ${found}`;
      throw new SlotCountError(`expected ${count} slots, got a store with ${found}: ${instead}`);
    }
    const rows = Array.from({ length: count - 1 }, (_, index) => index + 1);
    await tx
      .insertInto('slots')
      .values(rows.map((slot) => ({ slot, epoch: 0, owner: null, lease_until: 0, log: null })))
      .execute();
    const cursors = rows.flatMap((slot) => lanes.map((lane) => ({ slot, lane, seq: 0, pending: '[]' })));
    await tx.insertInto('log_cursors').values(cursors).execute();
  });
}

/** Whether anything of the log has been taken: then projects have their place in it. */
async function isBegun(tx: Queries): Promise<boolean> {
  const cursors = await tx.selectFrom('log_cursors').select(['seq', 'pending']).execute();
  return cursors.some(({ seq, pending }) => seq > 0 || pending !== '[]');
}

/** Says that the worker is there, and counts those that are. Who has been away for a lease is counted no more. */
export async function joinWorkers(db: Metadata, { owner, leaseMs }: LeaseOptions): Promise<Workers> {
  const now = databaseTime(db);
  const aliveUntil = sql<number>`${now} + ${leaseMs}`;
  await db
    .insertInto('pipeline_workers')
    .values({ id: owner, alive_until: aliveUntil })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ alive_until: aliveUntil }))
    .execute();
  await db.deleteFrom('pipeline_workers').where('alive_until', '<', now).execute();
  const ids = (await db.selectFrom('pipeline_workers').select('id').orderBy('id').execute()).map(({ id }) => id);
  return { count: ids.length, rank: ids.indexOf(owner) };
}

/** The worker goes; its slots are others' to take once they are released. */
export async function leaveWorkers(db: Metadata, owner: string): Promise<void> {
  await db.deleteFrom('pipeline_workers').where('id', '=', owner).execute();
}

/**
 * Takes at most `limit` slots that nobody holds. One whose last worker is still within a transaction is passed over. Who stands still in
 * the middle of it keeps the slots from the others for no longer than its lease would.
 */
export async function claimSlots(
  db: Metadata,
  { owner, leaseMs }: LeaseOptions,
  limit: number,
): Promise<readonly SlotHold[]> {
  if (limit <= 0) return [];
  const now = databaseTime(db);
  return await db.transaction().execute(async (tx) => {
    const query = tx.selectFrom('slots').select('slot').where('lease_until', '<', now).orderBy('slot').limit(limit);
    const locked = query.select(idleLimit(leaseMs).as('limit')).forUpdate().skipLocked();
    const free = await (hasStoreAlone(tx) ? query : locked).execute();
    if (free.length === 0) return [];
    const slots = free.map(({ slot }) => slot);
    return await tx
      .updateTable('slots')
      .set((eb) => ({ epoch: eb('epoch', '+', 1), owner, lease_until: sql<number>`${now} + ${leaseMs}` }))
      .where('slot', 'in', slots)
      .returning(['slot', 'epoch'])
      .execute();
  });
}

/** Renews every lease of the worker; returns what it holds now. What is missing is lost. */
export async function renewSlots(db: Metadata, { owner, leaseMs }: LeaseOptions): Promise<readonly SlotHold[]> {
  return await db
    .updateTable('slots')
    .set({ lease_until: sql<number>`${databaseTime(db)} + ${leaseMs}` })
    .where('owner', '=', owner)
    .returning(['slot', 'epoch'])
    .execute();
}

/** Gives slots back before their leases are over. Their work must have ended. */
export async function releaseSlots(db: Metadata, owner: string, slots: readonly number[]): Promise<void> {
  if (slots.length === 0) return;
  await db
    .updateTable('slots')
    .set({ owner: null, lease_until: 0 })
    .where('owner', '=', owner)
    .where('slot', 'in', slots)
    .execute();
}
