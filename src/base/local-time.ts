import { dayMs } from './time.ts';

/**
 * Returns how far a zone is ahead of UTC, in ms, when its clocks show `localMs` (ms since the epoch, as if they showed UTC). A
 * time that occurs twice is the first of the two; a skipped one uses the offset before the change. `zone` is an IANA name.
 * @throws RangeError for an unknown zone
 */
export function createLocalOffset(zone: string): (localMs: number) => number {
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const offsetAt = (ms: number): number => {
    const part: Record<string, number> = {};
    for (const { type, value } of clock.formatToParts(ms)) part[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
  };
  return (localMs) => {
    const before = offsetAt(localMs - dayMs);
    if (offsetAt(localMs - before) === before) return before;
    const after = offsetAt(localMs + dayMs);
    return offsetAt(localMs - after) === after ? after : before;
  };
}

/** Returns the zone's spelling in the tz database, or `undefined` if unknown. Offsets such as +01:00 are not zones. */
export function knownZone(name: string): string | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    // RangeError: unknown zone.
    return undefined;
  }
}
