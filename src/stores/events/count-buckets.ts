import { createLocalOffset } from '../../base/local-time.ts';

export type CountInterval = 'hour' | 'day' | 'week' | 'month';

const hour = 3_600_000_000;
const day = 24 * hour;

const utcMicros = 'toUnixTimestamp64Micro(timestamp)';
/** What the clocks of the zone show, as if they showed UTC. */
const localMicros = `(${utcMicros} + toInt64(timezoneOffset(toTimeZone(timestamp, {zone:String}))) * 1000000)`;

/**
 * Whole numbers, because the engine's own functions for this wrap around before 1970 and after 2106. The divisor is signed
 * because positiveModulo is wrong for a negative number and an unsigned 64-bit one. Hours are UTC's, where the zone's begin
 * (half past, in some): of two that clocks show alike each has its own. The others are as clocks show them.
 */
export function bucketSql(interval: CountInterval, timeZone: string | undefined): string {
  const micros = timeZone === undefined ? utcMicros : localMicros;
  switch (interval) {
    case 'hour':
      return `${utcMicros} - positiveModulo(${micros}, toInt64(${hour}))`;
    case 'day':
      return `${micros} - positiveModulo(${micros}, toInt64(${day}))`;
    case 'week':
      // Day 0 was a Thursday.
      return `${micros} - positiveModulo(${micros} + ${3 * day}, toInt64(${7 * day}))`;
    case 'month':
      return `toInt64(toYYYYMM(addDays(toDate32('1970-01-01'), intDiv(${micros} - positiveModulo(${micros}, toInt64(${day})), ${day}))))`;
  }
}

/** The start of a bucket in µs of UTC. */
export function intervalStart(interval: CountInterval, timeZone: string | undefined): (bucket: string) => bigint {
  const shown = (bucket: string): bigint => (interval === 'month' ? monthStart(Number(bucket)) : BigInt(bucket));
  if (timeZone === undefined || interval === 'hour') return shown;
  const offsetOf = createLocalOffset(timeZone);
  return (bucket) => {
    const local = shown(bucket);
    return local - BigInt(offsetOf(Number(local / 1000n))) * 1000n;
  };
}

/** `yyyymm` as a number. */
function monthStart(month: number): bigint {
  const time = new Date(0);
  time.setUTCFullYear(Math.floor(month / 100), (month % 100) - 1, 1);
  return BigInt(time.getTime()) * 1000n;
}
