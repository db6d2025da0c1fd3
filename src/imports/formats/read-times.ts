import type { EpochUnit } from '../../base/epoch.ts';
import { epochTime, textTime } from './times.ts';

/**
 * Time since 1970 in a unit that the source documents. Before 1990 and from 2100 on nothing is believed: such a number is
 * of another unit, or stands in for no time.
 */
export function timeOfEpoch(value: unknown, unit: EpochUnit): string | undefined {
  const time = epochTime(value, unit);
  return time !== undefined && time >= '1990' && time < '2100' ? time : undefined;
}

/** ISO 8601, in UTC where no zone is given, or milliseconds since 1970: what warehouses write for a timestamp. */
export function timeOfTextOrMs(value: unknown): string | undefined {
  return textTime(value) ?? timeOfEpoch(value, 'ms');
}
