import type { EpochUnit } from '../../base/epoch.ts';
import { epochTime, textTime, utc, type Zone } from './times.ts';

/**
 * Time since 1970 in a unit that the source documents. Before 1990 and from 2100 on nothing is believed: such a number is
 * of another unit, or stands in for no time.
 */
export function timeOfEpoch(value: unknown, unit: EpochUnit): string | undefined {
  const time = epochTime(value, unit);
  return time !== undefined && time >= '1990' && time < '2100' ? time : undefined;
}

/** ISO 8601, in UTC or `zone` where none is written, or milliseconds since 1970: what warehouses write for a timestamp. */
export function timeOfTextOrMs(value: unknown, zone: Zone = utc): string | undefined {
  return textTime(value, zone) ?? timeOfEpoch(value, 'ms');
}

const anotherZone: Zone = (localMs) => localMs - 3_600_000;

/** Whether a time is written without its zone, so that one has to be assumed. */
export function lacksZone(value: unknown): boolean {
  return typeof value === 'string' && textTime(value, utc) !== textTime(value, anotherZone);
}
