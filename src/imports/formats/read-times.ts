import type { EpochUnit } from '../../base/epoch.ts';
import { epochTime, textTime, utc, type Zone, zoneOption } from './times.ts';
import type { FormatOption, FormatOptions, RecordResult } from './format.ts';
import { note } from './read-by-map.ts';
import type { Hook } from './record-map.ts';
import type { FoundNote } from './record-notes.ts';

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
function lacksZone(value: unknown): boolean {
  return typeof value === 'string' && textTime(value, utc) !== textTime(value, anotherZone);
}

/** Of formats whose vendor does not say in which zone times without one are. */
export const assumedZoneOption: FormatOption = {
  key: 'time_zone',
  description:
    'Time zone of times that are written without one, such as Europe/Berlin or UTC. Without it they are taken as UTC, which the ' +
    'check reports',
  default: '',
};

export interface AssumedZone {
  readonly zone: Zone;
  /** The result of a record with that time, with a note if its zone was assumed. */
  readonly noted: (result: RecordResult, time: unknown) => RecordResult;
  /** The same as steps of a map, for the time in that member. */
  readonly notes: (member: string) => readonly Hook[];
}

/** Throws FormatOptionsError. */
export function assumedZone({ time_zone: given = '' }: FormatOptions): AssumedZone {
  if (given !== '') return { zone: zoneOption('time_zone', given), noted: (result) => result, notes: () => [] };
  return {
    zone: utc,
    noted: (result, time) => {
      if (result.kind !== 'events' || !lacksZone(time)) return result;
      return { ...result, notes: [...(result.notes ?? []), noteOf(time)] };
    },
    notes: (member) => [
      {
        from: [member],
        isIdle: (record) => !lacksZone(record[member]),
        run: (draft) => note(draft, noteOf(draft.record[member])),
      },
    ],
  };
}

const noteOf = (time: unknown): FoundNote => ({ of: 'zone_assumed', sample: String(time) });
