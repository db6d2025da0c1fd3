import type { FormatOption, FormatOptions, RecordResult } from './format.ts';
import { note } from './read-by-map.ts';
import { lacksZone } from './read-times.ts';
import type { Hook } from './record-map.ts';
import type { FoundNote } from './record-notes.ts';
import { utc, zoneOption, type Zone } from './times.ts';

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
