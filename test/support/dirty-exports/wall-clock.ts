/** Ms since the epoch at which the clocks of a zone change. */
export type ClockChange = number;

const formats = new Map<string, Intl.DateTimeFormat>();

/** By how many seconds the clocks of the zone are ahead of UTC; `at`: seconds since the epoch. */
export function aheadSeconds(zone: string, at: number): number {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium', hourCycle: 'h23' });
  formats.set(zone, format);
  // Swedish dates are ISO 8601.
  return Date.parse(`${format.format(at * 1000).replace(' ', 'T')}Z`) / 1000 - at;
}
