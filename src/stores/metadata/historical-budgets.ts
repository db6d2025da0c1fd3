import { readDatabaseTime } from './database-clock.ts';
import type { Metadata } from './database.ts';

export interface StoredBudget {
  tokens: number;
  perSecond: number;
  /** ms since the epoch, by the database's clock. */
  filledAt: number;
  total: number;
}

/** Returns the time since the total of a project was read from the event store, by the database's clock; undefined: never. */
export async function totalAge(db: Metadata, projectId: number): Promise<number | undefined> {
  const row = await db
    .selectFrom('historical_budgets')
    .select('total_read_at')
    .where('project_id', '=', projectId)
    .executeTakeFirst();
  return row === undefined ? undefined : (await readDatabaseTime(db)) - row.total_read_at;
}

/** Records the stored total; the first call creates the budget, which is full at the next requested speed. */
export async function writeTotal(db: Metadata, projectId: number, total: number): Promise<void> {
  const now = await readDatabaseTime(db);
  const row = { project_id: projectId, tokens: 0, per_second: 0, filled_at: now, total, total_read_at: now };
  await db
    .insertInto('historical_budgets')
    .values(row)
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet({ total, total_read_at: now }))
    .execute();
}

/** Changes a budget while no other process does. Returns undefined if the project has none. */
export async function changeBudget<T>(
  db: Metadata,
  projectId: number,
  change: (budget: StoredBudget, now: number) => T,
): Promise<T | undefined> {
  return db.transaction().execute(async (tx) => {
    // A write, so that others wait: after a read two of them could take the same events.
    const row = await tx
      .updateTable('historical_budgets')
      .set((eb) => ({ filled_at: eb.ref('filled_at') }))
      .where('project_id', '=', projectId)
      .returning(['tokens', 'per_second', 'filled_at', 'total'])
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { tokens, per_second: perSecond, filled_at: filledAt, total } = row;
    const budget: StoredBudget = { tokens, perSecond, filledAt, total };
    const result = change(budget, await readDatabaseTime(tx));
    await tx
      .updateTable('historical_budgets')
      .set({
        tokens: budget.tokens,
        per_second: budget.perSecond,
        filled_at: budget.filledAt,
        total: budget.total,
      })
      .where('project_id', '=', projectId)
      .execute();
    return result;
  });
}
