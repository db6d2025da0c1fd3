import { describe, expect, it } from 'vitest';
import { intervalFor, rangeOf } from './volume-range.ts';
import { volumeOf } from './volume.ts';

const now = Date.parse('2026-11-26T12:00:00Z');
const row = (time: string, count: number) => ({ time, event: 'seen', historical_migration: true, count });

describe('the range of the events chart', () => {
  it('events of 1970 and the far future are counted separately and do not compress a month', () => {
    const rows = [row('1970-01-01T00:00:00Z', 59), row('2026-10-01T00:00:00Z', 900), row('2037-01-01T00:00:00Z', 2)];
    const range = rangeOf(rows, 'month', now);
    expect(range).toMatchObject({ before2000: 59, inFuture: 2, results: [row('2026-10-01T00:00:00Z', 900)] });
    expect([range?.from, range?.to]).toEqual([Date.parse('2026-10-01'), Date.parse('2026-11-01')]);
    expect(range && intervalFor(range)).toBe('day');
  });

  it('January 2000 in a zone east of UTC is not before 2000', () => {
    expect(rangeOf([row('1999-12-31T13:00:00Z', 1)], 'month', now)).toMatchObject({ before2000: 0 });
  });

  it('if all events are of 1970, they are the range', () => {
    expect(rangeOf([row('1970-01-01T00:00:00Z', 59)], 'month', now)).toMatchObject({ before2000: 0, from: 0 });
    expect(rangeOf([], 'month', now)).toBeUndefined();
  });

  it('160 events of one minute are one hour between empty hours', () => {
    const range = rangeOf([row('2026-11-26T00:00:00Z', 160)], 'day', now);
    expect(range && intervalFor(range)).toBe('hour');
    const { times, series } = volumeOf([row('2026-11-26T10:00:00Z', 160)], 'hour');
    expect(times.map((time) => new Date(time * 1000).toISOString().slice(11, 16))).toEqual(['09:00', '10:00', '11:00']);
    expect(series[0]?.values).toEqual([0, 160, 0]);
  });

  it('a month is shown by day, a year by week, several years by month', () => {
    const from = Date.parse('2024-01-01');
    const after = (days: number) => intervalFor({ from, to: from + days * 86_400_000 });
    expect([1, 31, 365, 1500].map(after)).toEqual(['hour', 'day', 'week', 'month']);
  });

  it('a month ends where the next one begins', () => {
    const october = rangeOf([row('2026-10-01T00:00:00Z', 5)], 'month', now);
    expect(october?.to).toBe(Date.parse('2026-11-01'));
  });
});
