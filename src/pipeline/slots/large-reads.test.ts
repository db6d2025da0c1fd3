import { expect, it } from 'vitest';
import { createMemoryLog } from '../../../test/support/memory-log.ts';
import { createTurns, readInTurns, type Turns } from './slot-consumers.ts';

const limits = { events: 1000, bytes: 10_000_000 };
const large = 300_000;

function countedTurns(): Turns & { inProgress: () => number } {
  const turns = createTurns(2);
  let count = 0;
  return {
    inProgress: () => count,
    take: async () => {
      const end = await turns.take();
      count += 1;
      let isTaken = true;
      return () => {
        if (isTaken) count -= 1;
        isTaken = false;
        end();
      };
    },
  };
}

async function logWith(...sizes: number[]) {
  const log = createMemoryLog();
  for (const bytes of sizes) {
    const header = { projectId: 1, receivedAt: 0, encoding: 'identity', events: 1, requestId: 'r' } as const;
    await log.writer.append('historical', { header, body: new Uint8Array(bytes) });
  }
  return log;
}

it('small reads do not wait', async () => {
  const turns = countedTurns();
  const readers = [];
  for (let n = 0; n < 5; n++) readers.push(readInTurns((await logWith(10, 10)).reader, turns));
  for (const reader of readers) expect(await reader.read('historical', 0, limits)).toHaveLength(2);
  expect(turns.inProgress()).toBe(0);
});

it('only a few of many slots with a backlog have large windows in memory; the next one reads when one is stored', async () => {
  const turns = countedTurns();
  const readers = [];
  for (let n = 0; n < 3; n++) readers.push(readInTurns((await logWith(large, large)).reader, turns));
  const [first, second, third] = readers.map((reader) => reader.read('historical', 0, limits));
  expect(await first).toHaveLength(2);
  expect(await second).toHaveLength(2);
  const soon = new Promise((resolve) => setTimeout(resolve, 50, 'waits'));
  expect(await Promise.race([third, soon])).toBe('waits');
  readers[0]?.commit('historical', 2);
  expect(await third).toHaveLength(2);
  expect(turns.inProgress()).toBe(2);
});

it('a closed reader ends its turns, and repeating a range needs no second turn', async () => {
  const turns = countedTurns();
  const reader = readInTurns((await logWith(large, large)).reader, turns);
  await reader.read('historical', 0, limits);
  await reader.read('historical', 0, limits);
  await reader.read('historical', 1, limits);
  expect(turns.inProgress()).toBe(2);
  await reader.close();
  expect(turns.inProgress()).toBe(0);
});

it('a window that is stored while a reader waits for its turn does not lose a turn permanently', async () => {
  const turns = countedTurns();
  const readers = [];
  for (let n = 0; n < 3; n++) readers.push(readInTurns((await logWith(large, large, large)).reader, turns));
  const [own, ...others] = readers;
  const one = { events: 1, bytes: large };
  await own?.read('historical', 0, one);
  await others[0]?.read('historical', 0, one);
  // Both turns are taken: the next window is computed while the one before is stored.
  const next = own?.read('historical', 1, one);
  own?.commit('historical', 1);
  expect(await next).toHaveLength(1);
  own?.commit('historical', 2);
  others[0]?.commit('historical', 1);
  expect(turns.inProgress()).toBe(0);
});

it('readers that each wait for a second turn continue when their windows cannot be stored', async () => {
  const turns = countedTurns();
  const readers = [];
  for (let n = 0; n < 2; n++) readers.push(readInTurns((await logWith(large, large)).reader, turns));
  const one = { events: 1, bytes: large };
  for (const reader of readers) await reader.read('historical', 0, one);
  const next = readers.map((reader) => reader.read('historical', 1, one));
  for (const reader of readers) reader.release();
  expect((await Promise.all(next)).map((records) => records.length)).toEqual([1, 1]);
  expect(turns.inProgress()).toBe(2);
});
