import { expect, it } from 'vitest';
import { shareOf } from './slot-worker.ts';

const sharesOf = (slots: number, count: number): number[] =>
  Array.from({ length: count }, (_, rank) => shareOf(slots, { count, rank }));

it('every slot is in one share, and shares differ by at most one', () => {
  expect(sharesOf(64, 3)).toEqual([22, 21, 21]);
  expect(sharesOf(4, 3)).toEqual([2, 1, 1]);
  expect(sharesOf(1, 1)).toEqual([1]);
});

it('with more workers than slots some get no slot', () => {
  expect(sharesOf(2, 4)).toEqual([1, 1, 0, 0]);
});
