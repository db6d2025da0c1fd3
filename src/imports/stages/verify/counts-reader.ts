import type { Retry } from '../../../base/retry.ts';
import type { StoredDay } from '../../run/import-day.ts';
import type { StoredCount, TargetReader } from '../../target.ts';
import { expectedContents } from './expected.ts';

export type Counts = ReadonlyMap<string, StoredCount>;

/** Reads count and checksums by event name of a day in the target. */
export interface CountsReader {
  /** Reads days in order, many at a time if the target supports it. */
  first(day: StoredDay): Promise<Counts>;
  again(day: StoredDay): Promise<Counts>;
  /** Returns what was last read of a day together with others. */
  known(day: StoredDay): Counts | undefined;
}

interface CountsReaderDeps {
  readonly reader: TargetReader;
  readonly retry: Retry;
  readonly signal: AbortSignal;
}

/** Limit of one read, which takes the target a few seconds. */
const eventsMax = 2_000_000;
const daysMax = 200;

/** `days` in order. */
export function createCountsReader(
  { reader, retry, signal }: CountsReaderDeps,
  days: readonly StoredDay[],
): CountsReader {
  let ahead: ReadonlyMap<string, Counts> = new Map();
  const again: CountsReader['again'] = (day) => retry(() => reader.dayCounts(day.day, signal, expectedContents(day)));
  return {
    again,
    known: (day) => ahead.get(day.day),
    first: async (day) => {
      const { daysCounts } = reader;
      if (daysCounts === undefined) return await again(day);
      const known = ahead.get(day.day);
      if (known !== undefined) return known;
      const group = groupFrom(days, day);
      const range = { from: day.day, to: group.at(-1)?.day ?? day.day };
      const found = await retry(() => daysCounts(range, signal, expectedContents(day)));
      ahead = new Map(group.map((each) => [each.day, found.get(each.day) ?? new Map<string, StoredCount>()]));
      return ahead.get(day.day) ?? new Map<string, StoredCount>();
    },
  };
}

/** Returns the days from this one on that are read together; they have checksums of one kind. */
function groupFrom(days: readonly StoredDay[], first: StoredDay): readonly StoredDay[] {
  const start = days.indexOf(first);
  const contents = expectedContents(first);
  let events = first.events;
  let end = start + 1;
  for (; end < days.length && end - start < daysMax; end += 1) {
    const day = days[end];
    if (day === undefined || events + day.events > eventsMax || expectedContents(day) !== contents) break;
    events += day.events;
  }
  return days.slice(start, end);
}
