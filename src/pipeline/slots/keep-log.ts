import type { Metadata } from '../../stores/metadata/database.ts';
import { holdSlot, type SlotHold } from '../../stores/metadata/slots.ts';

/** The cursors of a slot count in another log: what is in this one would be passed over, up to where they are. */
export class OtherLogError extends Error {
  override name = 'OtherLogError';
}

/**
 * Makes sure that the cursors of a slot count in the log of its reader. A slot whose cursors are at the start takes any log; from then
 * on it keeps to it. Errors: OtherLogError, SlotLostError.
 */
export async function keepLog(db: Metadata, hold: SlotHold, logId: string): Promise<void> {
  const { slot } = hold;
  await db.transaction().execute(async (tx) => {
    await holdSlot(tx, hold);
    const { log } = await tx.selectFrom('slots').select('log').where('slot', '=', slot).executeTakeFirstOrThrow();
    if (log === logId) return;
    const begun = await tx
      .selectFrom('log_cursors')
      .select('seq')
      .where('slot', '=', slot)
      .where('seq', '>', 0)
      .execute();
    if (log !== null && begun.length > 0) {
      throw new OtherLogError(
        `expected slot ${slot} of the log ${log}, where its cursors are, got that of ${logId}: the topics were made anew. Bring ` +
          'the old ones back; if what they held is lost, see "A new log" in the guide to operations',
      );
    }
    await tx.updateTable('slots').set({ log: logId }).where('slot', '=', slot).execute();
  });
}
