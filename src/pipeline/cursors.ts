import type { Lane } from '../eventlog/eventlog.ts';
import type { Queries } from '../metadata/queries.ts';

/** How far a lane has come. */
export interface Cursor {
  /** Everything up to and including this is stored. */
  readonly seq: number;
  /** Ends of ranges that may have been inserted already; each is read again exactly so. Ascending, all above seq. */
  readonly pending: readonly number[];
}

export async function readCursor(db: Queries, lane: Lane): Promise<Cursor> {
  const row = await db.selectFrom('log_cursors').selectAll().where('lane', '=', lane).executeTakeFirst();
  if (row === undefined) return { seq: 0, pending: [] };
  const pending = (JSON.parse(row.pending) as number[]).filter((end) => end > row.seq).sort((a, b) => a - b);
  return { seq: row.seq, pending };
}

/** Puts on record that the range up to `end` is about to be inserted. */
export async function notePending(db: Queries, lane: Lane, end: number): Promise<void> {
  const { pending } = await readCursor(db, lane);
  if (pending.includes(end)) return;
  const json = JSON.stringify([...pending, end]);
  await db.updateTable('log_cursors').set({ pending: json }).where('lane', '=', lane).execute();
}

/** Somebody else has moved the cursor: two pipelines work on one log. What was computed must not be committed. */
export class CursorMovedError extends Error {
  override name = 'CursorMovedError';
}

/** Moves the cursor from where the window started, and only from there. Belongs into the transaction of the window. */
export async function advanceCursor(tx: Queries, lane: Lane, from: number, to: number): Promise<void> {
  const { pending } = await readCursor(tx, lane);
  const moved = await tx
    .updateTable('log_cursors')
    .set({ seq: to, pending: JSON.stringify(pending.filter((end) => end > to)) })
    .where('lane', '=', lane)
    .where('seq', '=', from)
    .returning('lane')
    .execute();
  if (moved.length === 1) return;
  throw new CursorMovedError(
    `expected the cursor of the ${lane} lane at ${from}, got: another place; run only one worker on an event log`,
  );
}
