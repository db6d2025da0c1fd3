import { parseTimestamp } from '../../wire/batch/timestamps.ts';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { Filter } from './step.ts';

/** Half open, by the event's own time. An event whose time cannot be read stays: the check says what is wrong with it. */
export function timeRange({ from, to }: NonNullable<ImportChoice['time']>): Filter {
  const first = from === undefined ? -Infinity : microsOf(from);
  const end = to === undefined ? Infinity : microsOf(to);
  return ({ timestamp }) => {
    const micros = parseTimestamp(timestamp);
    if (micros === undefined) return undefined;
    if (micros < first) return 'before the time range';
    return micros < end ? undefined : 'after the time range';
  };
}

/** Of a time that `parseChoice` has read. */
function microsOf(time: string): number {
  const micros = parseTimestamp(time);
  if (micros === undefined) throw new RangeError(`expected a time in ISO 8601, got: ${time}`);
  return micros;
}
