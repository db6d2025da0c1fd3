/**
 * Leases of slots, which workers of several processes share. A slot is held by one worker at a time; every claim increases its epoch,
 * and every transaction of the holder reads the slot's row first. A worker that has lost the slot cannot change anything, however late
 * it notices.
 *
 * All times are the database's; a worker only measures with its own clock how long ago it sent a request.
 *
 * | a slot is      | owner  | lease_until  | who may claim it               |
 * | -------------- | ------ | ------------ | ------------------------------ |
 * | free           | null   | 0            | every worker                   |
 * | held           | worker | in future    | none                           |
 * | left behind    | worker | in the past  | every worker                   |
 */
import { sql, type SelectQueryBuilder } from 'kysely';
import { databaseTime } from './database-clock.ts';
import type { Database, Metadata } from './database.ts';
import { hasStoreAlone, type Queries } from './queries.ts';

/** How long a slot stays with a silent worker, ms. */
export const slotLeaseMs = 10_000;

/** The right to write the results of a slot of the event log. */
export interface SlotHold {
  readonly slot: number;
  /** Epoch of the claim. */
  readonly epoch: number;
  /** For tests only, to show what the fence prevents: every write succeeds. */
  readonly unfenced?: true;
}

/** The store was created for another number of slots. */
export class SlotCountError extends Error {
  override name = 'SlotCountError';
}

export interface LeaseOptions {
  /** Id of the worker. */
  readonly owner: string;
  readonly leaseMs: number;
}

/** The number of workers that share the slots, and the rank of a worker among them, from 0. */
export interface Workers {
  readonly count: number;
  readonly rank: number;
}

const lanes = ['live', 'historical'] as const;

/**
 * Creates the slots of a new cluster, 0 … count - 1, each with cursors at the start of the log; repeating it changes nothing.
 *
 * @throws SlotCountError when the store has another number of slots
 */
export async function createSlots(db: Metadata, count: number): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // Several processes may start at the same time: the first one creates them.
    await tx.updateTable('slots').set({ slot: 0 }).where('slot', '=', 0).execute();
    const found = (await tx.selectFrom('slots').select('slot').execute()).length;
    if (found === count) return;
    if (found !== 1 || (await isBegun(tx))) {
      const instead =
        found === 1
          ? 'the store is that of one machine; move it with `millrace move`, or use an empty database'
          : `the number is fixed when a cluster is created; set MILLRACE_SLOTS to ${found}`;
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

/** Returns whether any record of the log was processed, which fixes the slots of projects. */
async function isBegun(tx: Queries): Promise<boolean> {
  const cursors = await tx.selectFrom('log_cursors').select(['seq', 'pending']).execute();
  return cursors.some(({ seq, pending }) => seq > 0 || pending !== '[]');
}

/**
 * Registers the worker and counts the registered ones. A worker that was silent for half a lease is not counted: others then already poll
 * for its slots when their leases end, and claim those that were released for it. If it is alive after all, it keeps what it holds.
 */
export async function joinWorkers(db: Metadata, { owner, leaseMs }: LeaseOptions): Promise<Workers> {
  const now = databaseTime(db);
  const aliveUntil = sql<number>`${now} + ${Math.ceil(leaseMs / 2)}`;
  await db
    .insertInto('pipeline_workers')
    .values({ id: owner, alive_until: aliveUntil })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ alive_until: aliveUntil }))
    .execute();
  await db.deleteFrom('pipeline_workers').where('alive_until', '<', now).execute();
  const ids = (await db.selectFrom('pipeline_workers').select('id').orderBy('id').execute()).map(({ id }) => id);
  return { count: ids.length, rank: ids.indexOf(owner) };
}

/** Unregisters the worker; others can claim its slots once they are released. */
export async function leaveWorkers(db: Metadata, owner: string): Promise<void> {
  await db.deleteFrom('pipeline_workers').where('id', '=', owner).execute();
}

/**
 * Claims at most `limit` free slots. A slot whose last worker is still in a transaction is skipped. A worker that hangs in the middle of
 * a claim blocks the slots no longer than its lease would.
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

/** Renews every lease of the worker and returns the slots that it holds. Missing ones are lost. */
export async function renewSlots(db: Metadata, { owner, leaseMs }: LeaseOptions): Promise<readonly SlotHold[]> {
  return await db
    .updateTable('slots')
    .set({ lease_until: sql<number>`${databaseTime(db)} + ${leaseMs}` })
    .where('owner', '=', owner)
    .returning(['slot', 'epoch'])
    .execute();
}

/** Releases slots before their leases end. Their work must have ended. */
export async function releaseSlots(db: Metadata, owner: string, slots: readonly number[]): Promise<void> {
  if (slots.length === 0) return;
  await db
    .updateTable('slots')
    .set({ owner: null, lease_until: 0 })
    .where('owner', '=', owner)
    .where('slot', 'in', slots)
    .execute();
}

/** Another worker has the slot. The transaction must not be committed, and nothing may be retried. */
export class SlotLostError extends Error {
  override name = 'SlotLostError';
}

/**
 * Must come first in every writing transaction of a slot's worker: until it ends no other worker can claim the slot, and the next
 * worker will find what the transaction reads.
 *
 * @throws SlotLostError
 */
export async function holdSlot(tx: Queries, { slot, epoch, unfenced }: SlotHold): Promise<void> {
  if (unfenced === true) return;
  const query = tx.selectFrom('slots').select('epoch').where('slot', '=', slot);
  const found = await (hasStoreAlone(tx) ? query : lockedEpoch(query)).executeTakeFirst();
  if (found?.epoch === epoch) return;
  const now = found === undefined ? 'no such slot' : `epoch ${found.epoch}`;
  throw new SlotLostError(
    `expected to hold slot ${slot} in epoch ${epoch}, got: ${now}; another worker continues with it`,
  );
}

/**
 * Locks the epoch. On PostgreSQL a claim, which changes the epoch and with it a key (slots_by_epoch), waits for this lock, and this for
 * a claim in progress; a renewal of the lease waits for neither. A worker that hangs inside the transaction would block the slot for
 * all others, so the server closes its connection.
 */
function lockedEpoch(query: SelectQueryBuilder<Database, 'slots', { epoch: number }>) {
  return query.select(idleLimit(slotLeaseMs).as('limit')).forKeyShare();
}

/** Selected in a PostgreSQL transaction, limits how long the server waits for the client inside it, ms, before it releases its locks. */
export function idleLimit(ms: number) {
  return sql`set_config('idle_in_transaction_session_timeout', ${String(ms)}, true)`;
}

/**
 * Claims a slot immediately, regardless of its holder: for a log that one process owns by other means, so no lease must be awaited
 * after a crash or renewed.
 */
export async function seizeSlot(db: Metadata, slot: number, owner: string): Promise<SlotHold> {
  const { epoch } = await db
    .updateTable('slots')
    .set((eb) => ({ epoch: eb('epoch', '+', 1), owner, lease_until: 0 }))
    .where('slot', '=', slot)
    .returning('epoch')
    .executeTakeFirstOrThrow();
  return { slot, epoch };
}
