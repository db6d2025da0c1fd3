import type { DialectAdapter } from 'kysely';
import type { Queries } from './queries.ts';

/** What an adapter can do whose store tells by itself that something was committed. */
export interface StoreVersion {
  /** See storeVersion. */
  storeVersion(): number | undefined;
}

/**
 * A number that stays the same until anybody commits anything, in whichever thread or process: as long as it does, everything read
 * outside of a transaction would be read the same. In SQLite it costs a fraction of any query. Undefined: the store cannot tell.
 */
export function storeVersion(db: Queries): number | undefined {
  const adapter: DialectAdapter & Partial<StoreVersion> = db.getExecutor().adapter;
  return adapter.storeVersion?.();
}
