import { expect, it } from 'vitest';
import { slotOf } from './slot-of.ts';

it('the slot of a project never changes', () => {
  expect([1, 2, 3, 4, 5, 100, 4711, 2_147_483_647].map((projectId) => slotOf(projectId, 64))).toEqual([
    55, 6, 39, 5, 13, 42, 48, 40,
  ]);
  expect([1, 2, 3, 4711].map((projectId) => slotOf(projectId, 1))).toEqual([0, 0, 0, 0]);
});

it('projects that were made one after the other scatter over the slots', () => {
  const counts = Array.from({ length: 64 }, () => 0);
  for (let projectId = 1; projectId <= 6400; projectId++) {
    const slot = slotOf(projectId, 64);
    counts[slot] = (counts[slot] ?? 0) + 1;
  }
  expect(Math.min(...counts)).toBeGreaterThan(60);
  expect(Math.max(...counts)).toBeLessThan(140);
});
