export type EpochUnit = 's' | 'ms' | 'us' | 'ns';

/**
 * The unit of a number that counts since 1970, decided by its size alone: seconds below 10^11 (the year 5138), milliseconds below
 * 10^14, microseconds below 10^17, else nanoseconds. The first milliseconds that are told from seconds lie in March 1973.
 */
export function epochUnit(value: number): EpochUnit {
  const size = Math.abs(value);
  if (size < 1e11) return 's';
  if (size < 1e14) return 'ms';
  return size < 1e17 ? 'us' : 'ns';
}
