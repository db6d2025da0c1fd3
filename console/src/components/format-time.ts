/** Formats a time as `2026-11-22 16:45:01` in the zone, with milliseconds if exact. Zones unknown to the browser count as UTC. */
export function formatTime(iso: string, timezone: string, exact = false): string {
  const parts = new Map(
    formatOf(timezone)
      .formatToParts(new Date(iso))
      .map(({ type, value }) => [type, value]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  const day = `${of('year')}-${of('month')}-${of('day')}`;
  const seconds = exact ? `${of('second')}.${of('fractionalSecond')}` : of('second');
  return `${day} ${of('hour')}:${of('minute')}:${seconds}`;
}

/** Formats a time relative to now: `3 min ago`, `in 2 h`, `now`. */
export function formatAgo(iso: string, now: number): string {
  const seconds = Math.round((now - Date.parse(iso)) / 1000);
  const size = Math.abs(seconds);
  if (size < 5) return 'now';
  const [unit, length] =
    size < 60
      ? (['s', 1] as const)
      : size < 3600
        ? (['min', 60] as const)
        : size < 86_400
          ? (['h', 3600] as const)
          : (['d', 86_400] as const);
  const amount = Math.floor(size / length);
  return seconds > 0 ? `${amount} ${unit} ago` : `in ${amount} ${unit}`;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const options = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
  } as const;
  try {
    return new Intl.DateTimeFormat('en-CA', { ...options, timeZone });
  } catch {
    return new Intl.DateTimeFormat('en-CA', { ...options, timeZone: 'UTC' });
  }
}
