import type { Queries } from './queries.ts';

const onlyRow = 1;

/**
 * Says that something changed which a running pipeline must see. Call it in the transaction of the change; such
 * transactions then follow one another. Returns the new revision.
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

/** Cheap enough to ask every second. */
export async function readConfigRevision(db: Queries): Promise<number> {
  const { revision } = await db
    .selectFrom('config_revisions')
    .select('revision')
    .where('id', '=', onlyRow)
    .executeTakeFirstOrThrow();
  return revision;
}

/** Waits for every other transaction that changes configuration; they then wait for this one. */
export async function lockConfig(tx: Queries): Promise<void> {
  await tx
    .updateTable('config_revisions')
    .set((eb) => ({ revision: eb.ref('revision') }))
    .where('id', '=', onlyRow)
    .execute();
}
