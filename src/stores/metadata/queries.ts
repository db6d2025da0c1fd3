import { SqliteAdapter, type Kysely } from 'kysely';
import type { Database } from './database.ts';

/** The store itself or a transaction on it. */
export type Queries = Kysely<Database>;

/** Runs `work` in the given transaction, or in a new one. */
export async function inTransaction<T>(db: Queries, work: (tx: Queries) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}

/** Returns whether a transaction locks the whole store, as in SQLite, where rows need no lock and cannot have one. */
export function hasStoreAlone(tx: Queries): boolean {
  return tx.getExecutor().adapter instanceof SqliteAdapter;
}
