import type { EventCounts, Interval } from './events-query.ts';

const dayMs = 86_400_000;
const year2000 = Date.UTC(2000, 0, 1);
/** A clock in another zone may be so far ahead. */
const aheadMs = dayMs;

/** Where the events are: times that no event of a product has would squash all others. */
export interface VolumeRange {
  /** ms since the epoch: start of the first interval, end of the last. */
  readonly from: number;
  readonly to: number;
  readonly results: EventCounts['results'];
  /** Events that are not in `results`. */
  readonly before2000: number;
  readonly inFuture: number;
}

/** Undefined: nothing was counted. Where all events have such times, they are the range. */
export function rangeOf(results: EventCounts['results'], interval: Interval, now: number): VolumeRange | undefined {
  const early = results.filter(({ time }) => (Date.parse(time) + endOf(time, interval)) / 2 < year2000);
  const late = results.filter(({ time }) => Date.parse(time) > now + aheadMs);
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

/** How fine a range is drawn. */
export function intervalFor({ from, to }: Pick<VolumeRange, 'from' | 'to'>): Interval {
  const days = (to - from) / dayMs;
  if (days <= 4) return 'hour';
  return days <= 120 ? 'day' : days <= 800 ? 'week' : 'month';
}

/** End of the interval that begins then, in ms. */
export function endOf(time: string, interval: Interval): number {
  const start = Date.parse(time);
  if (interval === 'hour') return start + dayMs / 24;
  if (interval === 'day') return start + dayMs;
  if (interval === 'week') return start + 7 * dayMs;
  // It begins at midnight of the zone that was asked for: half a day later it is that month everywhere.
  const inside = new Date(start + dayMs / 2);
  return start + new Date(Date.UTC(inside.getUTCFullYear(), inside.getUTCMonth() + 1, 0)).getUTCDate() * dayMs;
}

function sumOf(rows: EventCounts['results']): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}
