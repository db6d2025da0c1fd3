import { useQuery } from '@tanstack/react-query';
import type { Query } from '../../api/request.ts';
import { countsQuery, type Interval } from './events-query.ts';
import { intervalFor, rangeOf, type VolumeRange } from './volume-range.ts';

interface VolumeOptions {
  readonly projectId: number;
  readonly filter: Query;
  /** By the filter alone. */
  readonly interval: Interval;
  readonly zone: string;
  readonly enabled: boolean;
  readonly now: number;
}

/**
 * The counts as fine as where the events are permits: what was counted coarsely says where that is. A day of them takes three
 * questions, each of fewer events.
 */
export function useVolume({ interval, ...options }: VolumeOptions) {
  const whole = useRange(options, interval);
  const wholeFine = finer(whole.range, interval);
  const part = useRange(narrowed(options, whole.range, wholeFine), wholeFine ?? interval);
  const partFine = wholeFine && finer(part.range, wholeFine);
  const last = useRange(narrowed(options, part.range, partFine), partFine ?? interval);
  const shown = partFine !== undefined ? last : wholeFine !== undefined ? part : whole;
  return {
    total: whole.total,
    outliers: whole.range,
    range: shown.range,
    interval: partFine ?? wholeFine ?? interval,
    isPending: shown.isPending,
    error: whole.error ?? part.error ?? last.error,
  };
}

const order: readonly Interval[] = ['month', 'week', 'day', 'hour'];

function finer(range: VolumeRange | undefined, than: Interval): Interval | undefined {
  const interval = range && intervalFor(range);
  return interval !== undefined && order.indexOf(interval) > order.indexOf(than) ? interval : undefined;
}

function useRange({ projectId, filter, zone, enabled, now }: Omit<VolumeOptions, 'interval'>, interval: Interval) {
  const { data, error, isPending } = useQuery({ ...countsQuery(projectId, filter, interval, zone), enabled });
  return { range: data && rangeOf(data.results, interval, now), total: data?.total, error, isPending };
}

function narrowed(
  options: Omit<VolumeOptions, 'interval'>,
  range: VolumeRange | undefined,
  interval: Interval | undefined,
): Omit<VolumeOptions, 'interval'> {
  if (range === undefined || interval === undefined) return { ...options, enabled: false };
  const { after, before } = options.filter;
  const from = Math.max(range.from, timeOf(after) ?? range.from);
  const to = Math.min(range.to, timeOf(before) ?? range.to);
  const filter = { ...options.filter, after: new Date(from).toISOString(), before: new Date(to).toISOString() };
  return { ...options, filter };
}

function timeOf(value: Query[string]): number | undefined {
  const time = Date.parse(String(value ?? ''));
  return Number.isNaN(time) ? undefined : time;
}
