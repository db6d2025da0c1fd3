import type { DialectAdapter } from 'kysely';
import type { Queries } from './queries.ts';

/** An adapter whose store reports commits. */
export interface StoreVersion {
  /** As the function `storeVersion`. */
  storeVersion(): number | undefined;
}

/**
 * Returns a number that changes with every commit of any thread or process: while it stays the same, reads outside of a transaction give
 * the same results. In SQLite it costs a fraction of any query. Returns undefined if the store does not support it.
 */
export function storeVersion(db: Queries): number | undefined {
  const adapter: DialectAdapter & Partial<StoreVersion> = db.getExecutor().adapter;
  return adapter.storeVersion?.();
}
