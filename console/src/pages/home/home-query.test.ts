import { expect, it } from 'vitest';
import { chartStart, hours, hourlySums } from './home-query.ts';

it('events by hour have no gaps and end with the current hour', () => {
  const now = Date.parse('2026-11-22T16:45:10Z');
  const start = chartStart(now);
  const count = (time: string, historical: boolean, many: number) => ({
    time,
    event: null,
    historical_migration: historical,
    count: many,
  });
  const sums = hourlySums(
    [
      count('2026-11-22T16:00:00Z', false, 3),
      count('2026-11-22T16:00:00Z', false, 4),
      count('2026-11-20T17:00:00Z', true, 9),
      count('2019-01-01T00:00:00Z', true, 100),
    ],
    start,
  );
  expect([sums.times.length, sums.live.length, sums.historical.length]).toEqual([hours, hours, hours]);
  expect([sums.live.at(-1), sums.historical[0]]).toEqual([7, 9]);
  expect(sums.historical.reduce((sum, each) => sum + each, 0)).toBe(9);
});
