import { expect, it } from 'vitest';
import { StepSize } from './step-size.ts';

/** Steps that a rebuild of so many keys takes, if reading costs `readMs` and each key `keyMs`. */
function stepsOf(keys: number, readMs: number, keyMs: number): { steps: number; longestMs: number } {
  const size = new StepSize();
  let steps = 0;
  let longestMs = 0;
  for (let left = keys; left > 0; steps += 1) {
    const own = Math.min(left, size.keys);
    const ms = readMs + own * keyMs;
    longestMs = Math.max(longestMs, ms);
    size.took(ms);
    left -= own;
  }
  return { steps, longestMs };
}

it('a rebuild of a small project takes short steps', () => {
  const { longestMs } = stepsOf(100_000, 50, 1);
  expect(longestMs).toBeLessThan(4500);
});

it('a rebuild of a large project reads it few times, in steps about twice as long as a read', () => {
  const { steps, longestMs } = stepsOf(1_000_000, 20_000, 0.2);
  // 2,000 with the smallest step.
  expect(steps).toBeLessThan(50);
  expect(longestMs).toBeLessThan(45_000);
  const slow = stepsOf(100_000, 20_000, 10);
  expect(slow.longestMs).toBeLessThan(85_000);
});

it('steps shrink again when they take longer', () => {
  const size = new StepSize();
  for (let n = 0; n < 10; n += 1) size.took(100);
  expect(size.keys).toBe(25_000);
  for (let n = 0; n < 10; n += 1) size.took(5000);
  expect(size.keys).toBe(500);
});
