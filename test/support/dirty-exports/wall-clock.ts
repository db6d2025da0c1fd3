import type { Draw } from '../draw.ts';

/** Ms since the epoch at which the clocks of a zone change. */
export type ClockChange = number;

const formats = new Map<string, Intl.DateTimeFormat>();

/** By how many seconds the clocks of the zone are ahead of UTC; `at`: seconds since the epoch. */
export function aheadSeconds(zone: string, at: number): number {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium', hourCycle: 'h23' });
  formats.set(zone, format);
  const seconds = Math.floor(at);
  // Swedish dates are ISO 8601.
  return Date.parse(`${format.format(seconds * 1000).replace(' ', 'T')}Z`) / 1000 - seconds;
}

/** What a clock shows, as if it were UTC, and when that is taken to be; ms since the epoch. */
export interface ClockTime {
  readonly localMs: number;
  readonly ms: number;
}

const hourMs = 3_600_000;

/** In a zone whose clocks change by an hour. An hour that comes twice is taken for the first one. */
export function clockAt(draw: Draw, zone: string, ms: number): ClockTime {
  if (zone === 'UTC') return { localMs: ms, ms };
  const ahead = aheadSeconds(zone, ms / 1000) * 1000;
  const before = aheadSeconds(zone, (ms - hourMs) / 1000) * 1000;
  // Some clocks are not put forward: they show an hour that there is not.
  if (before < ahead && draw.chance(0.5)) return { localMs: ms + before, ms };
  return { localMs: ms + ahead, ms: before > ahead ? ms - hourMs : ms };
}
