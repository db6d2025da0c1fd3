import { expect, it } from 'vitest';
import { hasPart, partOf, slotOf, slotOfPart } from './slot-of.ts';

it('the slot of a project never changes', () => {
  expect([1, 2, 3, 4, 5, 100, 4711, 2_147_483_647].map((projectId) => slotOf(projectId, 64))).toEqual([
    55, 6, 39, 5, 13, 42, 48, 40,
  ]);
  expect([1, 2, 3, 4711].map((projectId) => slotOf(projectId, 1))).toEqual([0, 0, 0, 0]);
});

it('consecutive projects scatter over the slots', () => {
  const counts = Array.from({ length: 64 }, () => 0);
  for (let projectId = 1; projectId <= 6400; projectId++) {
    const slot = slotOf(projectId, 64);
    counts[slot] = (counts[slot] ?? 0) + 1;
  }
  expect(Math.min(...counts)).toBeGreaterThan(60);
  expect(Math.max(...counts)).toBeLessThan(140);
});

it('the part of a distinct id never changes', () => {
  expect(['ada', 'u1', '01j', 'ä'].map((id) => [2, 4, 8, 64].map((spread) => partOf(id, spread)))).toEqual([
    [0, 3, 4, 25],
    [1, 1, 1, 35],
    [1, 1, 5, 57],
    [1, 3, 3, 41],
  ]);
});

it('ids scatter over the parts of a project, and an additional part only moves ids into it', () => {
  const ids = Array.from({ length: 8000 }, (_, n) => `user-${n}`);
  for (const spread of [1, 2, 3, 4, 8]) {
    const counts = [...Map.groupBy(ids, (id) => partOf(id, spread)).values()].map((each) => each.length);
    expect(counts).toHaveLength(spread);
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.2);
  }
  const moved = ids.filter((id) => partOf(id, 4) !== partOf(id, 5));
  expect(new Set(moved.map((id) => partOf(id, 5)))).toEqual(new Set([4]));
});

it('a project is in its own slot and those that follow', () => {
  const slots = [0, 1, 2].map((part) => slotOfPart(4711, part, 50));
  expect(slots[0]).toBe(slotOf(4711, 50));
  const holding = Array.from({ length: 50 }, (_, slot) => slot).filter((slot) =>
    hasPart(slot, { projectId: 4711, spread: 3 }, 50),
  );
  expect(holding).toEqual(slots.toSorted((a, b) => a - b));
});
