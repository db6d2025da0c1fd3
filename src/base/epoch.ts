export type EpochUnit = 's' | 'ms' | 'us' | 'ns';

/**
 * Returns the unit of a number that counts since 1970, by its size: seconds below 10^11 (the year 5138), milliseconds below
 * 10^14, microseconds below 10^17, otherwise nanoseconds. The first milliseconds that can be distinguished from seconds are in
 * March 1973.
 */
export function epochUnit(value: number): EpochUnit {
  const size = Math.abs(value);
  if (size < 1e11) return 's';
  if (size < 1e14) return 'ms';
  return size < 1e17 ? 'us' : 'ns';
}
