import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { takeWork } from './take-work.ts';

it('works on the given number concurrently, polls again when work ends, and waits for the rest at the end', async () => {
  const stop = new AbortController();
  const waiting = ['a', 'b', 'c'];
  const done: string[] = [];
  let underWay = 0;
  let most = 0;
  await takeWork({
    claim: async () => waiting.shift(),
    work: async (name: string) => {
      underWay += 1;
      most = Math.max(most, underWay);
      if (name === 'c') stop.abort();
      await setTimeout(5);
      underWay -= 1;
      done.push(name);
    },
    atOnceMax: 2,
    pollMs: 60_000,
    signal: stop.signal,
    onTrouble: () => undefined,
  });
  expect(most).toBe(2);
  expect(done.toSorted()).toEqual(['a', 'b', 'c']);
});

it('reports the first of consecutive failures, and continues', async () => {
  const stop = new AbortController();
  const troubles: unknown[] = [];
  const answers = [new Error('away'), new Error('away'), 'work', new Error('away again'), undefined];
  await takeWork({
    claim: async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      if (answers.length === 0) stop.abort();
      return answer;
    },
    work: async () => undefined,
    atOnceMax: 1,
    pollMs: 1,
    signal: stop.signal,
    onTrouble: (error) => troubles.push(error instanceof Error && error.message),
  });
  expect(troubles).toEqual(['away', 'away again']);
});
