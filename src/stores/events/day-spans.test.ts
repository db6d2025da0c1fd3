import { expect, it } from 'vitest';
import { daySpans } from './kept-counts.ts';
import type { StoredPart } from './stored-parts.ts';

function part(id: number, firstDay: number, lastDay: number, isMerged = true): StoredPart {
  return { id, firstDay, lastDay, isMerged, times: {} };
}

it('days of the same parts are one span, and only those of a single merged part need no check for duplicates', () => {
  const parts = [part(3, 20, 20, false), part(1, 1, 20), part(2, 18, 22), part(4, 30, 31, false)];
  const shown = daySpans(parts).map((span) => [
    span.firstDay,
    span.lastDay,
    span.parts.map(({ id }) => id).sort(),
    span.isDistinct,
  ]);
  expect(shown).toEqual([
    [1, 17, [1], true],
    [18, 19, [1, 2], false],
    [20, 20, [1, 2, 3], false],
    [21, 22, [2], true],
    [30, 31, [4], false],
  ]);
  expect(daySpans([])).toEqual([]);
});

it('the key of a span does not depend on the order of its parts, and changes when one of them does', () => {
  const keys = (parts: readonly StoredPart[]): string[] => daySpans(parts).map(({ key }) => key);
  expect(keys([part(1, 1, 5), part(2, 3, 9)])).toEqual(keys([part(2, 3, 9), part(1, 1, 5)]));
  expect(keys([part(1, 1, 5), part(2, 3, 9)]).slice(0, 2)).toEqual(keys([part(1, 1, 5), part(2, 3, 7)]).slice(0, 2));
  expect(keys([part(1, 1, 5)])).not.toEqual(keys([part(7, 1, 5)]));
});
