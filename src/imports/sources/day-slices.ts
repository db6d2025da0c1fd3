import { dayMs, startOfDay } from '../../base/time.ts';
import type { TimeRange } from '../source.ts';
import { SourceError } from '../source.ts';

const partsMax = 100_000;

/** Half open, ms since the epoch. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

/**
 * Splits a range at UTC midnights, oldest first, after extending its ends to whole units (a day, an hour). Without an end it
 * extends to the last midnight at least `settledMs` ago, since later data may still change. Throws SourceError without a start.
 */
export function daySlices(
  range: TimeRange,
  {
    name,
    now,
    unitMs,
    settledMs,
    days = 1,
  }: {
    readonly name: string;
    readonly now: number;
    readonly unitMs: number;
    readonly settledMs: number;
    /** Days in one slice. */
    readonly days?: number;
  },
): Slice[] {
  if (range.from === undefined) {
    throw new SourceError(
      `${name} does not report when its data begins: set the first day, such as 2024-01-01 (--from-date, the field "First day", or "from" of the run)`,
    );
  }
  const from = Math.floor(Date.parse(range.from) / unitMs) * unitMs;
  const to = range.to === undefined ? startOfDay(now - settledMs) : Math.ceil(Date.parse(range.to) / unitMs) * unitMs;
  const slices: Slice[] = [];
  for (let start = from; start < to;) {
    const midnight = startOfDay(start) + days * dayMs;
    const end = Math.min(midnight, to);
    slices.push({ from: start, to: end });
    if (slices.length > partsMax)
      throw new SourceError(`${name}: expected at most ${partsMax} parts; shorten the range`);
    start = end;
  }
  return slices;
}

/** Returns `2024-03-01` for a whole day, otherwise both ends. */
export function keyOf({ from, to }: Slice): string {
  const start = new Date(from).toISOString();
  if (to - from === dayMs && from % dayMs === 0) return start.slice(0, 10);
  return `${shortTime(start)}..${shortTime(new Date(to).toISOString())}`;
}

function shortTime(iso: string): string {
  return iso.replace(/(T00:00)?:00\.000Z$/, (_match, midnight: string | undefined) =>
    midnight === undefined ? 'Z' : '',
  );
}

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
