/**
 * The fence between workers of the pipeline. A slot is held by one worker at a time; every claim increases its epoch, and every
 * transaction of the holder reads the slot's row first. A worker that has lost the slot cannot change anything, however late it
 * notices.
 */
import { sql, type SelectQueryBuilder } from 'kysely';
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
