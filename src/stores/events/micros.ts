/** Times of stored events: µs since the epoch as bigint, since the year 2299 does not fit a double exactly. */

const iso = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d\d:?\d\d)?)?$/i;

/** Parses an ISO 8601 date or time, UTC without an offset; digits beyond µs are truncated. Returns undefined if invalid. */
export function parseMicros(text: string): bigint | undefined {
  const match = iso.exec(text.trim());
  if (!match) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = match;
  const time = new Date(0);
  time.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  time.setUTCHours(Number(hour), Number(minute), Number(second));
  // The 30th of February or 25 o'clock would have rolled over.
  const given = [year, month, day, hour, minute, second].map(Number);
  const kept = [time.getUTCFullYear(), time.getUTCMonth() + 1, time.getUTCDate()];
  kept.push(time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds());
  if (given.some((part, i) => part !== kept[i])) return undefined;
  const micros = BigInt(fraction.padEnd(6, '0').slice(0, 6));
  return BigInt(time.getTime() - offsetMs(zone)) * 1000n + micros;
}

function offsetMs(zone: string): number {
  if (zone.toUpperCase() === 'Z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000;
}

/** `2026-11-20T10:00:00.123456Z` */
export function isoOfMicros(micros: bigint): string {
  const rest = ((micros % 1000n) + 1000n) % 1000n;
  const ms = Number((micros - rest) / 1000n);
  return `${new Date(ms).toISOString().slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}
