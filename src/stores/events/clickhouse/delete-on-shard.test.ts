import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../eventstore.ts';
import { deleteOnShard } from './delete-on-shard.ts';
import { Replicas } from './replicas.ts';
import type { ClickhouseServer } from './server.ts';

/** A double: a real server lists a delete late only when it is busy. */
function serverThat({ listsAfter, command }: { listsAfter: number; command: () => Promise<void> }) {
  let polls = 0;
  const server: Partial<ClickhouseServer> = {
    host: 'replica-1',
    answers: async () => true,
    command,
    rows: async <Row>(sql: string) => {
      if (!sql.includes('argMax')) return [{ known: 1, open: 0, failure: '' }] as Row[];
      polls += 1;
      return [{ id: polls > listsAfter ? '0000000007' : '' }] as Row[];
    },
  };
  return { shard: new Replicas([server as ClickhouseServer]), polls: () => polls };
}

const work = { table: 'events', where: 'shard 1', sql: 'DELETE', text: 'marker', pollMs: 5 };
const never = () => new Promise<void>(() => undefined);
const interrupted = () => Promise.reject(new StoreUnavailableError('a replica is unavailable'));

describe('a delete that no server lists yet', () => {
  it.each([
    ['runs', never, 30],
    ['has ended without a result', interrupted, 5],
  ])('is waited for while its statement %s', async (_name, command, listsAfter) => {
    const { shard, polls } = serverThat({ listsAfter, command });
    const reasons = new Set<string>();
    await deleteOnShard(shard, work, { onWait: (reason) => reasons.add(reason) });
    expect(polls()).toBe(listsAfter + 1);
    expect([...reasons]).toEqual(['shard 1 has not received the delete yet']);
  });

  it('ends with its statement', async () => {
    const end = Promise.withResolvers<void>();
    const { shard } = serverThat({ listsAfter: Infinity, command: () => end.promise });
    const waiting = deleteOnShard(shard, work, { onWait: () => end.resolve() });
    await expect(waiting).resolves.toBeUndefined();
  });

  it('is reported if no server ever lists it, and ends with its signal', async () => {
    const lost = serverThat({ listsAfter: Infinity, command: interrupted });
    await expect(deleteOnShard(lost.shard, work)).rejects.toThrow(/no server lists it after 12 polls/);
    const stop = new AbortController();
    const { shard } = serverThat({ listsAfter: Infinity, command: never });
    const waiting = deleteOnShard(shard, work, { signal: stop.signal, onWait: () => stop.abort() });
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
