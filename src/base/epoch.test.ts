import { expect, it } from 'vitest';
import { epochMicros } from '../wire/batch/timestamps.ts';
import { epochTime } from '../imports/formats/times.ts';
import { epochUnit } from './epoch.ts';

it.each([
  [0, 's'],
  [1_600_000_000, 's'],
  [99_999_999_999, 's'],
  [100_000_000_000, 'ms'],
  [-1_600_000_000_000, 'ms'],
  [100_000_000_000_000, 'us'],
  [1_600_000_000_000_000, 'us'],
  [100_000_000_000_000_000, 'ns'],
] as const)('%d since 1970 is in %s', (value, unit) => {
  expect(epochUnit(value)).toBe(unit);
});

it('live and imported events read a number as the same time; an import refuses ambiguous ones', () => {
  for (const value of [1_600_000_000, 1_600_000_000_000, 1_600_000_000_000_000]) {
    expect(Date.parse(epochTime(value) ?? '') * 1000).toBe(epochMicros(value));
  }
  expect(epochTime(32_503_680_000)).toBeUndefined();
  // Milliseconds of 1974, or seconds of the year 6723.
  expect(epochTime(150_000_000_000)).toBeUndefined();
});
