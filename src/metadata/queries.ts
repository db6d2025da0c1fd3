import type { Kysely } from 'kysely';
import type { Database } from './database.ts';

/** What a query function takes: the store itself or a transaction on it. */
export type Queries = Kysely<Database>;

/** Runs `work` in the transaction given, or in one of its own. */
export async function inTransaction<T>(db: Queries, work: (tx: Queries) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}
