import { SqliteAdapter, type Kysely } from 'kysely';
import type { Database } from './database.ts';

/** What a query function takes: the store itself or a transaction on it. */
export type Queries = Kysely<Database>;

/** Runs `work` in the transaction given, or in one of its own. */
export async function inTransaction<T>(db: Queries, work: (tx: Queries) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}

/** Whether a transaction has the whole store to itself, as in SQLite: there its rows need no lock, and can have none. */
export function hasStoreAlone(tx: Queries): boolean {
  return tx.getExecutor().adapter instanceof SqliteAdapter;
}
