import { describe, expect, it } from 'vitest';
import { ServerAwayError, StoreUnavailableError } from '../eventstore.ts';
import { insertOnShard } from './insert-on-shard.ts';
import { Replicas } from './replicas.ts';
import type { ClickhouseServer } from './server.ts';

/**
 * Replicas that behave as the engine does: the first dies once it has recorded the token of an insert, and the others take the next insert
 * with that token for a duplicate, after which they discard the part and the token, because only the dead replica had it.
 */
function dyingReplicas(deaths: number) {
  const tokens = new Map<string, 'kept' | 'unreplicated'>();
  const stored: string[] = [];
  let left = deaths;
  const insert = async (sql: string): Promise<void> => {
    const known = tokens.get(sql);
    if (known === 'unreplicated') return void tokens.delete(sql);
    if (known === 'kept') return;
    if (left-- > 0) {
      tokens.set(sql, 'unreplicated');
      throw new ServerAwayError('killed');
    }
    tokens.set(sql, 'kept');
    stored.push(sql);
  };
  const servers = Array.from({ length: 3 }, () => ({ insert, answers: async () => true }));
  return { shard: new Replicas(servers as unknown as readonly ClickhouseServer[]), stored };
}

const batch = { rows: 1, chunks: [] };

describe('an insert on a shard', () => {
  it.each([0, 1, 2, 5])(
    'is stored once although replicas die %i times right after they have recorded its token',
    async (deaths) => {
      const { shard, stored } = dyingReplicas(deaths);
      await insertOnShard(shard, { sql: "token 'a'", batch }, new Set());
      expect(stored).toEqual(["token 'a'"]);
    },
  );

  it('that failed at every replica is stored once when the caller repeats it', async () => {
    const { shard, stored } = dyingReplicas(1);
    const refusing = { insert: () => Promise.reject(new StoreUnavailableError('too many parts')) };
    const unsure = new Set<string>();
    const insert = (into: Replicas): Promise<void> => insertOnShard(into, { sql: 'b', batch }, unsure);
    const [first] = shard.servers;
    if (first === undefined) throw new Error('expected a server');
    await expect(insert(new Replicas([first]))).rejects.toBeInstanceOf(ServerAwayError);
    await expect(insert(new Replicas([refusing as unknown as ClickhouseServer]))).rejects.toThrow('too many parts');
    await insert(shard);
    expect([stored, unsure.size]).toEqual([['b'], 0]);
  });
});
