import type { Lane } from '../log/eventlog.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import { hasStoreAlone, type Queries } from '../stores/metadata/queries.ts';
import { holdSlot, type SlotHold } from '../stores/metadata/slot-leases.ts';

/** Progress of a lane of a slot. */
export interface Cursor {
  /** Everything up to and including this is stored. */
  readonly seq: number;
  /** Ends of ranges that may have been inserted already; each is read again with the same end. Ascending, all above seq. */
  readonly pending: readonly number[];
}

interface LanePlace {
  readonly slot: number;
  readonly lane: Lane;
}

export async function readCursor(db: Queries, place: LanePlace): Promise<Cursor> {
  return toCursor(await cursorRow(db, place).executeTakeFirst());
}

/** Returns the last stored seq by lane and slot; slots without a cursor are at 0. */
export async function readCursors(db: Queries): Promise<Readonly<Record<Lane, ReadonlyMap<number, number>>>> {
  const rows = await db.selectFrom('log_cursors').select(['slot', 'lane', 'seq']).execute();
  const of = (lane: Lane) => new Map(rows.filter((row) => row.lane === lane).map(({ slot, seq }) => [slot, seq]));
  return { live: of('live'), historical: of('historical') };
}

/**
 * Records that the range up to `end` is about to be inserted.
 *
 * @returns whether that was recorded before, so that it may have been inserted already
 * @throws SlotLostError
 */
export async function notePending(db: Metadata, hold: SlotHold, lane: Lane, end: number): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    await holdSlot(tx, hold);
    const { pending } = await lockCursor(tx, { slot: hold.slot, lane });
    if (pending.includes(end)) return true;
    const json = JSON.stringify([...pending, end]);
    await tx
      .updateTable('log_cursors')
      .set({ pending: json })
      .where('slot', '=', hold.slot)
      .where('lane', '=', lane)
      .execute();
    return false;
  });
}

/** The cursor is not where the window started, so the window must not be committed. */
export class CursorMovedError extends Error {
  override name = 'CursorMovedError';
}

/**
 * Moves the cursor if it is still where the window started. Belongs in the transaction of the window, which holds the slot.
 *
 * @throws CursorMovedError
 */
export async function advanceCursor(tx: Queries, place: LanePlace, from: number, to: number): Promise<void> {
  const { slot, lane } = place;
  const { pending } = await lockCursor(tx, place);
  const moved = await tx
    .updateTable('log_cursors')
    .set({ seq: to, pending: JSON.stringify(pending.filter((end) => end > to)) })
    .where('slot', '=', slot)
    .where('lane', '=', lane)
    .where('seq', '=', from)
    .returning('lane')
    .execute();
  if (moved.length === 1) return;
  throw new CursorMovedError(
    `expected the cursor of the ${lane} lane of slot ${slot} at ${from}, got: another position; the window is computed again`,
  );
}

const noCursor: Cursor = { seq: 0, pending: [] };

function cursorRow(db: Queries, { slot, lane }: LanePlace) {
  return db.selectFrom('log_cursors').select(['seq', 'pending']).where('slot', '=', slot).where('lane', '=', lane);
}

/** Locks the cursor until the transaction ends. */
async function lockCursor(tx: Queries, place: LanePlace): Promise<Cursor> {
  const query = cursorRow(tx, place);
  return toCursor(await (hasStoreAlone(tx) ? query : query.forUpdate()).executeTakeFirst());
}

function toCursor(row: { readonly seq: number; readonly pending: string } | undefined): Cursor {
  if (row === undefined) return noCursor;
  const pending = (JSON.parse(row.pending) as number[]).filter((end) => end > row.seq).sort((a, b) => a - b);
  return { seq: row.seq, pending };
}
