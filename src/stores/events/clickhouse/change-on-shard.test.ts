import { expect, it } from 'vitest';
import { ServerAwayError, StoreUnavailableError } from '../eventstore.ts';
import { changeOnShard } from './change-on-shard.ts';
import { Replicas } from './replicas.ts';
import type { ClickhouseServer } from './server.ts';

/** The first server dies in the middle of the change. With `isBehind` it never gets all rows. */
function shardOf(ran: string[], isBehind = false): Replicas {
  const servers = ['a', 'b', 'c'].map((host) => ({
    host,
    answers: async () => true,
    command: async (sql: string) => {
      if (sql.startsWith('SYSTEM SYNC'))
        return isBehind && host === 'a' ? await new Promise(() => undefined) : undefined;
      ran.push(`${host}: ${sql}`);
      if (host === 'a') throw new ServerAwayError('killed');
    },
  }));
  return new Replicas(servers as unknown as readonly ClickhouseServer[]);
}

const work = { from: [], to: 't', shardNumber: 1, statements: ['S'], pollMs: 1000, log: { warn: () => undefined } };

it('a change that is the same when repeated continues at the next replica', async () => {
  const ran: string[] = [];
  await changeOnShard(shardOf(ran), { ...work, isRepeatable: true });
  expect(ran).toEqual(['a: S', 'b: S']);
});

it('a change that would add rows twice is not tried at another replica: it fails, and the caller starts over', async () => {
  const ran: string[] = [];
  const changed = changeOnShard(shardOf(ran), { ...work, isRepeatable: false });
  await expect(changed).rejects.toThrow(StoreUnavailableError);
  await expect(changed).rejects.toThrow('a failed in the middle of a change');
  expect(ran).toEqual(['a: S']);
});

it('a replica that keeps lacking rows which another one has is not waited for: that one makes the change', async () => {
  const ran: string[] = [];
  await changeOnShard(shardOf(ran, true), { ...work, from: ['rows'], isRepeatable: true, behindMsMax: 20 });
  expect(ran).toEqual(['b: S']);
});
