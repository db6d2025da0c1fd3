import { expect, it } from 'vitest';
import { sharedAnswer } from './shared-answer.ts';

it('everybody who asks within the time gets the answer that the first one got', async () => {
  let now = 0;
  let asked = 0;
  const answer = sharedAnswer(
    100,
    async () => ++asked,
    () => now,
  );
  expect(await Promise.all([answer(), answer()])).toEqual([1, 1]);
  now = 99;
  expect(await answer()).toBe(1);
  now = 100;
  expect(await answer()).toBe(2);
});

it('a failure is told to those who wait, and the next one asks again', async () => {
  let asked = 0;
  const answer = sharedAnswer(100, async () => {
    asked += 1;
    if (asked === 1) throw new Error('away');
    return asked;
  });
  await expect(answer()).rejects.toThrow('away');
  expect(await answer()).toBe(2);
});
