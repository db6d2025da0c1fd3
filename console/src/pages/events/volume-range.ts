import type { EventCounts, Interval } from './events-query.ts';

const dayMs = 86_400_000;
const year2000 = Date.UTC(2000, 0, 1);
/** Tolerance for clocks in zones ahead of this one. */
const futureToleranceMs = dayMs;

/** The time range of the events, without outliers that would compress all others. */
export interface VolumeRange {
  /** Unix ms of the start of the first interval and the end of the last. */
  readonly from: number;
  readonly to: number;
  readonly results: EventCounts['results'];
  /** Number of events not in `results`. */
  readonly before2000: number;
  readonly inFuture: number;
}

/** Returns the range, or `undefined` without events. If all events are outliers, they are the range. */
export function rangeOf(results: EventCounts['results'], interval: Interval, now: number): VolumeRange | undefined {
  const early = results.filter(({ time }) => (Date.parse(time) + endOf(time, interval)) / 2 < year2000);
  const late = results.filter(({ time }) => Date.parse(time) > now + futureToleranceMs);
  const usual = results.filter((row) => !early.includes(row) && !late.includes(row));
  const shown = usual.length === 0 ? results : usual;
  if (shown.length === 0) return undefined;
  const isUsual = usual.length > 0;
  return {
    from: Math.min(...shown.map(({ time }) => Date.parse(time))),
    to: Math.max(...shown.map(({ time }) => endOf(time, interval))),
    results: shown,
    before2000: isUsual ? sumOf(early) : 0,
    inFuture: isUsual ? sumOf(late) : 0,
  };
}

/** Returns the interval for a range. */
export function intervalFor({ from, to }: Pick<VolumeRange, 'from' | 'to'>): Interval {
  const days = (to - from) / dayMs;
  if (days <= 4) return 'hour';
  return days <= 120 ? 'day' : days <= 800 ? 'week' : 'month';
}

/** Returns the end of the interval that starts at `time`, in ms. */
function endOf(time: string, interval: Interval): number {
  const start = Date.parse(time);
  if (interval === 'hour') return start + dayMs / 24;
  if (interval === 'day') return start + dayMs;
  if (interval === 'week') return start + 7 * dayMs;
  // It starts at midnight of the requested zone; half a day later it is the same month in every zone.
  const inside = new Date(start + dayMs / 2);
  return start + new Date(Date.UTC(inside.getUTCFullYear(), inside.getUTCMonth() + 1, 0)).getUTCDate() * dayMs;
}

function sumOf(rows: EventCounts['results']): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}
