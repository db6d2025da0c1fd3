import type { Queries } from './queries.ts';

const onlyRow = 1;

/**
 * Records a change that a running pipeline must see. Call it in the transaction of the change, which serialises such
 * transactions. Returns the new revision.
 */
export async function bumpConfigRevision(db: Queries): Promise<number> {
  const { revision } = await db
    .updateTable('config_revisions')
    .set((eb) => ({ revision: eb('revision', '+', 1) }))
    .where('id', '=', onlyRow)
    .returning('revision')
    .executeTakeFirstOrThrow();
  return revision;
}

/** Cheap enough to call every second. */
export async function readConfigRevision(db: Queries): Promise<number> {
  const { revision } = await db
    .selectFrom('config_revisions')
    .select('revision')
    .where('id', '=', onlyRow)
    .executeTakeFirstOrThrow();
  return revision;
}

/** Serialises this transaction with all others that change configuration. */
export async function lockConfig(tx: Queries): Promise<void> {
  await tx
    .updateTable('config_revisions')
    .set((eb) => ({ revision: eb.ref('revision') }))
    .where('id', '=', onlyRow)
    .execute();
}
