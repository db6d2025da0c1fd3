import { createLocalOffset } from '../../base/local-time.ts';
import { dayMs, minuteMs } from '../../base/time.ts';

/** When runs are due. */
export type Timing =
  /** At multiples of this interval since 1970. */
  | { readonly everyMinutes: number }
  /** `03:30`, by local time of the project. */
  | { readonly dailyAt: string };

/** Returns the first time after `now`, ms. `zone` is an IANA name. */
export function nextDue(timing: Timing, now: number, zone: string): number {
  return timesAround(timing, now, zone).find((time) => time > now) ?? Infinity;
}

/** Returns the last time up to and including `now`, ms. */
export function lastDue(timing: Timing, now: number, zone: string): number {
  return timesAround(timing, now, zone).findLast((time) => time <= now) ?? 0;
}

/** Returns due times in order, at least one before and one after `now`. */
function timesAround(timing: Timing, now: number, zone: string): number[] {
  if ('everyMinutes' in timing) {
    const everyMs = timing.everyMinutes * minuteMs;
    const last = Math.floor(now / everyMs) * everyMs;
    return [last, last + everyMs];
  }
  const [hours = 0, minutes = 0] = timing.dailyAt.split(':').map(Number);
  const offsetOf = createLocalOffset(zone);
  const today = Math.floor(now / dayMs);
  return [-2, -1, 0, 1, 2].map((days) => {
    const local = (today + days) * dayMs + (hours * 60 + minutes) * minuteMs;
    return local - offsetOf(local);
  });
}
