import { SourceError, type TimeRange } from '../source.ts';
import { dayMs, startOfDay } from '../../base/time.ts';
import { keyOf } from './day-slices.ts';

/** A piece of the values of a cursor column, half open. Times are ISO 8601 UTC, integers are digits. */
export interface CursorBounds {
  readonly key: string;
  readonly from: string;
  readonly to: string;
}

const partsMax = 100_000;

/** Splits times by UTC day. `low` and `high` are in ms since the epoch; the last day is whole. Throws SourceError for too many. */
export function dayBounds(low: number, high: number, range: TimeRange): CursorBounds[] {
  const first = startOfDay(low);
  const start = range.from === undefined ? first : Math.max(first, Date.parse(range.from));
  const end = Math.min(startOfDay(high) + dayMs, range.to === undefined ? Infinity : Date.parse(range.to));
  const found: CursorBounds[] = [];
  for (let from = start; from < end;) {
    const to = Math.min(end, startOfDay(from) + dayMs);
    found.push({ key: keyOf({ from, to }), from: new Date(from).toISOString(), to: new Date(to).toISOString() });
    mustBeFew(found, 'choose a shorter range');
    from = to;
  }
  return found;
}

/** A date has no time of day: rows of the first day of a range may be before or after its start. */
export function ofWholeDays(range: TimeRange): TimeRange {
  if (range.from === undefined) return range;
  return { ...range, from: new Date(startOfDay(Date.parse(range.from))).toISOString() };
}

/**
 * Splits integers at multiples of `size`, so that the same rows are in the same part whatever follows. Throws SourceError for too
 * many.
 */
export function blockBounds(low: bigint, high: bigint, size: bigint): CursorBounds[] {
  const found: CursorBounds[] = [];
  // Rounded down, even below zero.
  for (let from = low - (((low % size) + size) % size); from <= high; from += size) {
    const to = from + size;
    found.push({ key: `${from}..${to}`, from: String(from), to: String(to) });
    mustBeFew(found, 'choose a greater "part_size"');
  }
  return found;
}

function mustBeFew(found: readonly CursorBounds[], advice: string): void {
  if (found.length > partsMax) throw new SourceError(`expected at most ${partsMax} parts, got more: ${advice}`);
}

/** Reports a part of an earlier listing that does not contain its bounds. */
export function badPart(key: string): SourceError {
  return new SourceError(`the part ${key} does not contain its rows`, { advice: 'startAgain' });
}

/** Reports a range of times for a cursor that is not a time. */
export function rangeNeedsTime(column: string, type: string): SourceError {
  return new SourceError(
    `"from" and "to" need a cursor column that is a time, but "${column}" is ${type}; put the limits in the query`,
  );
}
