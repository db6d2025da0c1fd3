import type { EpochUnit } from '../../base/epoch.ts';
import { epochTime, textTime, utc, type Zone, zoneOption } from './times.ts';
import type { FormatOption, FormatOptions, RecordResult } from './format.ts';
import { note } from './read-by-map.ts';
import type { Hook } from './record-map.ts';
import type { FoundNote } from './record-notes.ts';

/**
 * Converts an epoch time in a documented unit. Rejects times before 1990 and from 2100 on: such a number has another unit or
 * represents no time.
 */
export function timeOfEpoch(value: unknown, unit: EpochUnit): string | undefined {
  const time = epochTime(value, unit);
  return time !== undefined && time >= '1990' && time < '2100' ? time : undefined;
}

/** Reads a timestamp as warehouses write it: ISO 8601, in `zone` where none is given, or milliseconds since 1970. */
export function timeOfTextOrMs(value: unknown, zone: Zone = utc): string | undefined {
  return textTime(value, zone) ?? timeOfEpoch(value, 'ms');
}

const anotherZone: Zone = (localMs) => localMs - 3_600_000;

/** Whether a time has no zone, so that one must be assumed. */
function lacksZone(value: unknown): boolean {
  return typeof value === 'string' && textTime(value, utc) !== textTime(value, anotherZone);
}

/** For formats whose vendor does not document the zone of times without one. */
export const assumedZoneOption: FormatOption = {
  key: 'time_zone',
  label: 'Time zone',
  description:
    'Time zone of times without one, such as Europe/Berlin or UTC. By default they are read as UTC, which the check reports',
  default: '',
};

export interface AssumedZone {
  readonly zone: Zone;
  /** Adds a note to the result if the zone of the record's time was assumed. */
  readonly noted: (result: RecordResult, time: unknown) => RecordResult;
  /** Does the same as steps of a map, for the time in a member. */
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
