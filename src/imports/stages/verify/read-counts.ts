import type { Retry } from '../../../base/retry.ts';
import type { StoredDay } from '../../run/import-day.ts';
import type { StoredCount, TargetReader } from '../../target.ts';
import { expectedContents } from './expected.ts';

type Counts = ReadonlyMap<string, StoredCount>;

/** Count and checksums by event name that the target shows of a day. */
export interface CountsReader {
  /** Days are asked for in their order, many of them at once where the target allows it. */
  first(day: StoredDay): Promise<Counts>;
  again(day: StoredDay): Promise<Counts>;
}

export interface CountsReaderDeps {
  readonly reader: TargetReader;
  readonly retry: Retry;
  readonly signal: AbortSignal;
}

/** Of one question: it takes the target a few seconds. */
const eventsMax = 2_000_000;
const daysMax = 200;

/** `days`: in their order. */
export function createCountsReader(
  { reader, retry, signal }: CountsReaderDeps,
  days: readonly StoredDay[],
): CountsReader {
  let ahead: ReadonlyMap<string, Counts> = new Map();
  const again: CountsReader['again'] = (day) => retry(() => reader.dayCounts(day.day, signal, expectedContents(day)));
  return {
    again,
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

/** As many days from this one on as are asked for at once; checksums of one kind. */
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
