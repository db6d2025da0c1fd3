import type { RowBatch } from '../eventstore.ts';
import type { Replicas } from './replicas.ts';

/** Inserts that have failed and were not repeated yet; the oldest are forgotten beyond this. */
const unsureMax = 10_000;

export interface ShardInsert {
  /** With the token. */
  readonly sql: string;
  readonly batch: RowBatch;
}

/**
 * Inserts rows into one replica of a shard at a time, until one confirms them. If a replica is killed before another one has fetched its
 * part, the others take a repetition for a duplicate and confirm it, although the engine then discards that part for lack of a quorum,
 * together with its token (`detached/noquorum_…`). So an insert that succeeds after a failure is repeated: by then the engine has decided,
 * and what it has discarded is inserted.
 *
 * @param unsure statements of earlier inserts that have failed; the caller keeps it
 */
export async function insertOnShard(shard: Replicas, { sql, batch }: ShardInsert, unsure: Set<string>): Promise<void> {
  for (let isSure = !unsure.has(sql); ; isSure = true) {
    let tries = 0;
    try {
      await shard.use((server) => {
        tries += 1;
        return server.insert(sql, batch);
      });
    } catch (error) {
      unsure.add(sql);
      const [oldest] = unsure;
      if (unsure.size > unsureMax && oldest !== undefined) unsure.delete(oldest);
      throw error;
    }
    if (isSure && tries === 1) break;
  }
  unsure.delete(sql);
}
