import { describe, expect, it } from 'vitest';
import { formatAgo, formatTime } from './format-time.ts';

describe('a time', () => {
  it.each([
    ['Europe/Berlin', false, '2026-07-01 00:30:00'],
    ['America/New_York', true, '2026-06-30 18:30:00.123'],
    ['UTC', false, '2026-06-30 22:30:00'],
    ['Nowhere/Unknown', false, '2026-06-30 22:30:00'],
  ])('is shown in %s', (zone, exact, text) => {
    expect(formatTime('2026-06-30T22:30:00.123456Z', zone, exact)).toBe(text);
  });

  it('midnight is hour 0', () => {
    expect(formatTime('2026-01-01T00:00:00Z', 'UTC')).toBe('2026-01-01 00:00:00');
  });

  it.each([
    [2, 'now'],
    [59, '59 s ago'],
    [60, '1 min ago'],
    [7_199, '1 h ago'],
    [200_000, '2 d ago'],
    [-90, 'in 1 min'],
  ])('%d s before now is %s', (seconds, text) => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    expect(formatAgo(new Date(now - seconds * 1000).toISOString(), now)).toBe(text);
  });
});
