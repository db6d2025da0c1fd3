import { describe, expect, it } from 'vitest';
import { lastDue, nextDue, type Timing } from './timing.ts';

const around = (timing: Timing, now: string, zone = 'UTC'): string[] =>
  [lastDue(timing, Date.parse(now), zone), nextDue(timing, Date.parse(now), zone)].map((time) =>
    new Date(time).toISOString().slice(0, 16),
  );

describe('when runs are due', () => {
  it.each([
    [15, '2026-03-01T10:07:00Z', '2026-03-01T10:00', '2026-03-01T10:15'],
    [60, '2026-03-01T10:00:00Z', '2026-03-01T10:00', '2026-03-01T11:00'],
    [1440, '2026-03-01T23:59:59Z', '2026-03-01T00:00', '2026-03-02T00:00'],
  ])('every %i minutes at %s: last and next', (everyMinutes, now, last, next) => {
    expect(around({ everyMinutes }, now)).toEqual([last, next]);
  });

  it.each([
    ['03:30', 'UTC', '2026-03-01T03:29:59Z', '2026-02-28T03:30', '2026-03-01T03:30'],
    ['03:30', 'UTC', '2026-03-01T03:30:00Z', '2026-03-01T03:30', '2026-03-02T03:30'],
    ['00:10', 'Pacific/Kiritimati', '2026-03-01T10:09:00Z', '2026-02-28T10:10', '2026-03-01T10:10'],
    ['23:50', 'Pacific/Honolulu', '2026-03-01T09:51:00Z', '2026-03-01T09:50', '2026-03-02T09:50'],
    // Clocks go forward: the day has 23 hours, and the local time is kept.
    ['08:00', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-28T07:00', '2026-03-29T06:00'],
    // 02:30 is skipped that night: the run is due once nevertheless.
    ['02:30', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-28T01:30', '2026-03-29T01:30'],
    // 02:30 occurs twice: only the first counts.
    ['02:30', 'Europe/Berlin', '2026-10-25T01:00:00Z', '2026-10-25T00:30', '2026-10-26T01:30'],
  ])('daily at %s in %s, at %s: last and next', (dailyAt, zone, now, last, next) => {
    expect(around({ dailyAt }, now, zone)).toEqual([last, next]);
  });
});
