import { describe, expect, it } from 'vitest';
import { LogUnavailableError } from '../eventlog.ts';
import { PartitionQueue, type Waiting } from './partition-queue.ts';

function item(bytes: number, deadline = Infinity): Waiting & { readonly outcome: Promise<unknown> } {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const outcome = promise.catch((error: unknown) => error);
  return {
    value: Buffer.alloc(0),
    headers: new Map(),
    projectId: 1,
    events: 1,
    bytes,
    timestamp: 0n,
    deadline,
    resolve,
    reject,
    outcome,
  };
}

const id = (producerId: bigint) => ({ producerId, producerEpoch: 0 });

describe('appends waiting for a partition', () => {
  it('small ones are sent together up to a size, and a large one alone', () => {
    const queue = new PartitionQueue();
    const sizes = [10, 20, 2_000_000, 600_000, 600_000];
    for (const bytes of sizes) queue.push(item(bytes));
    const groups: number[][] = [];
    for (let batch = queue.next(); batch !== undefined; batch = queue.next()) {
      groups.push(batch.items.map(({ bytes }) => bytes));
      queue.stored();
    }
    expect(groups).toEqual([[10, 20], [2_000_000], [600_000], [600_000]]);
  });

  it('a retry sends the same batch with the same sequence', () => {
    const queue = new PartitionQueue();
    queue.begin(id(1n));
    queue.push(item(1));
    const first = queue.next();
    queue.push(item(1));
    expect(queue.next()).toBe(first);
    expect(queue.sequence).toBe(0);
    queue.stored();
    expect(queue.next()?.items).toHaveLength(1);
    expect(queue.sequence).toBe(1);
  });

  it('after a failure the id is never used again, even if the next attempt fails before it has another', () => {
    const queue = new PartitionQueue();
    queue.begin(id(1n));
    for (let round = 0; round < 2; round += 1) {
      queue.push(item(1));
      queue.next();
      queue.fail(new LogUnavailableError('away'));
      expect([queue.id, queue.spoiled]).toEqual([undefined, id(1n)]);
    }
  });

  it('records that have waited as long fail with it, and later ones are still tried', async () => {
    const queue = new PartitionQueue();
    const [first, late, young] = [item(2_000_000, 0), item(1, 0), item(1)];
    for (const each of [first, late, young]) queue.push(each);
    queue.next();
    queue.fail(new LogUnavailableError('away'));
    expect(await Promise.all([first.outcome, late.outcome])).toEqual([
      expect.any(LogUnavailableError),
      expect.any(LogUnavailableError),
    ]);
    expect(queue.next()?.items).toEqual([young]);
  });
});
