import type { FormatOption, FormatOptions, RecordResult } from './format.ts';
import { lacksZone } from './read-times.ts';
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
}

/** Throws FormatOptionsError. */
export function assumedZone({ time_zone: given = '' }: FormatOptions): AssumedZone {
  if (given !== '') return { zone: zoneOption('time_zone', given), noted: (result) => result };
  return {
    zone: utc,
    noted: (result, time) => {
      if (result.kind !== 'events' || !lacksZone(time)) return result;
      return { ...result, notes: [...(result.notes ?? []), { of: 'zone_assumed', sample: String(time) }] };
    },
  };
}
