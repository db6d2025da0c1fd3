import { describe, expect, it } from 'vitest';
import { everyDay, firstDay } from './usage-query.ts';

const now = Date.parse('2026-03-01T00:00:30Z');

describe('usage', () => {
  it('a period ends today', () => {
    expect(firstDay('30d', now)).toBe('2026-01-31');
  });

  it('days without events are included with zero', () => {
    const days = everyDay([{ date: '2026-02-28', standard: 5, historical: 7 }], '30d', now);
    expect([days.length, days[0]?.date, days.at(-1)?.date]).toEqual([30, '2026-01-31', '2026-03-01']);
    expect(days.at(-2)).toEqual({ date: '2026-02-28', standard: 5, historical: 7 });
    expect(days.reduce((sum, { standard }) => sum + standard, 0)).toBe(5);
  });
});
