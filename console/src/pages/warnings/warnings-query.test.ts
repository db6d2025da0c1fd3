import { describe, expect, it } from 'vitest';
import { filterWarnings, hourlyCounts, inBars, periodHours, periodStart, type Warning } from './warnings-query.ts';

const hour = 3_600_000;
const now = Date.parse('2026-11-22T16:45:10Z');
const warning = (type: string, severity: Warning['severity']): Warning => ({
  type,
  severity,
  meaning: `Meaning of ${type}.`,
  count: 1,
  last_seen: '2026-11-22T16:00:00Z',
  samples: [],
  sparkline: [],
});

describe('warnings', () => {
  it('a period is whole hours and includes the current one', () => {
    const start = periodStart('24h', now);
    expect(new Date(start).toISOString()).toBe('2026-11-21T17:00:00.000Z');
    const sparkline = [
      { hour: '2026-11-21T17:00:00Z', count: 2 },
      { hour: '2026-11-22T16:00:00Z', count: 5 },
      { hour: '2026-11-20T00:00:00Z', count: 9 },
    ];
    const counts = hourlyCounts(sparkline, start, periodHours['24h']);
    expect([counts.length, counts[0], counts.at(-1), counts.reduce((sum, each) => sum + each, 0)]).toEqual([
      24, 2, 5, 7,
    ]);
    expect(periodStart('24h', now + hour)).toBe(start + hour);
  });

  it('bars preserve the sum', () => {
    expect(inBars([1, 2, 3, 4, 5], 2)).toEqual([6, 9]);
    expect(inBars([], 4)).toEqual([]);
  });

  it('are filtered by severity, and by text in name or meaning', () => {
    const all = [warning('event_too_large', 'error'), warning('distinct_id_truncated', 'warning')];
    expect(filterWarnings(all, {})).toHaveLength(2);
    expect(filterWarnings(all, { severity: 'error' })).toEqual([all[0]]);
    expect(filterWarnings(all, { q: 'MEANING of distinct' })).toEqual([all[1]]);
    expect(filterWarnings(all, { q: 'large', severity: 'warning' })).toEqual([]);
  });
});
