import { expect, it } from 'vitest';
import { sharedAnswer } from './shared-answer.ts';

it('all callers within the time get the answer of the first', async () => {
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

it('a failure is passed to waiting callers, and the next one calls again', async () => {
  let asked = 0;
  const answer = sharedAnswer(100, async () => {
    asked += 1;
    if (asked === 1) throw new Error('away');
    return asked;
  });
  await expect(answer()).rejects.toThrow('away');
  expect(await answer()).toBe(2);
});
