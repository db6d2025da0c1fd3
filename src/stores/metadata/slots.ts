/**
 * The fence between workers of the pipeline. A slot is held by one worker at a time; every claim raises its epoch, and every
 * transaction of the holder reads the slot's row first. Who lost the slot, however late it notices, changes nothing any more.
 */
import { sql, type SelectQueryBuilder } from 'kysely';
import type { Database, Metadata } from './database.ts';
import { hasStoreAlone, type Queries } from './queries.ts';

/** How long a slot stays with a worker that is not heard of any more, ms. */
export const slotLeaseMs = 10_000;

/** The right to write what follows from a slot of the event log. */
export interface SlotHold {
  readonly slot: number;
  /** Of the claim. */
  readonly epoch: number;
  /** For tests alone, to show what the fence prevents: every write goes through. */
  readonly unfenced?: true;
}

/** Somebody else has the slot now. Nothing of the transaction may be committed, and nothing else is to be tried. */
export class SlotLostError extends Error {
  override name = 'SlotLostError';
}

/**
 * Belongs first into every transaction that a slot's worker writes: until it ends nobody can take the slot, and what the
 * transaction reads is what the next worker will find. Errors: SlotLostError.
 */
export async function holdSlot(tx: Queries, { slot, epoch, unfenced }: SlotHold): Promise<void> {
  if (unfenced === true) return;
  const query = tx.selectFrom('slots').select('epoch').where('slot', '=', slot);
  const found = await (hasStoreAlone(tx) ? query : lockedEpoch(query)).executeTakeFirst();
  if (found?.epoch === epoch) return;
  const now = found === undefined ? 'no such slot' : `epoch ${found.epoch}`;
  throw new SlotLostError(
    `expected to hold slot ${slot} in epoch ${epoch}, got: ${now}; its next worker goes on with it`,
  );
}

/**
 * On PostgreSQL a claim, which changes the epoch and with it a key (slots_by_epoch), waits for this lock, and this for a claim that
 * is under way; a renewal of the lease waits for nobody. A worker that stands still inside the transaction would keep the slot
 * from everybody: the server ends its connection instead.
 */
function lockedEpoch(query: SelectQueryBuilder<Database, 'slots', { epoch: number }>) {
  return query.select(idleLimit(slotLeaseMs).as('limit')).forKeyShare();
}

/** To be selected in a transaction of PostgreSQL: for how long the server waits for the client inside it, ms. Then it lets go its locks. */
export function idleLimit(ms: number) {
  return sql`set_config('idle_in_transaction_session_timeout', ${String(ms)}, true)`;
}

/**
 * Takes a slot at once, whoever has it: for a log that one process owns by other means, which therefore has no lease to wait for
 * after a crash, and none to renew.
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
