import { counted } from '../../components/format-number.ts';
import { useQuery } from '@tanstack/react-query';
import type { Query } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { Chart } from '../../components/chart.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { countsQuery, type Interval } from './events-query.ts';
import type { EventsSearch } from './events-search.ts';
import { intervalFor, rangeOf, type VolumeRange } from './volume-range.ts';
import { volumeOf } from './volume.ts';

interface VolumeChartProps {
  readonly projectId: number;
  readonly filter: Query;
  readonly interval: Interval;
  readonly zone: string;
  /** Whether to load the counts. */
  readonly counts: boolean;
  readonly now: number;
  readonly onRange: (change: Pick<EventsSearch, 'period' | 'after' | 'before'>) => void;
}

const dayMs = 86_400_000;

/** The number of matching events over time, by event name and lane. */
export function VolumeChart({ counts, now, onRange, ...options }: VolumeChartProps) {
  const { total, outliers, range, interval, isPending, error } = useVolume({ ...options, now, enabled: counts });
  const { times, series } = volumeOf(range?.results ?? [], interval);
  const tomorrow = new Date(now + dayMs).toISOString();
  return (
    <Section
      title={`Events by ${interval}`}
      description={
        <>
          <NumberText value={total?.standard} /> live, <NumberText value={total?.historical} /> historical
        </>
      }
    >
      <ErrorNote error={error} />
      <div className="min-h-56">
        {times.length > 0 && (
          <Chart
            label={`Events by ${interval}`}
            kind="bars"
            times={times}
            series={series}
            height={140}
            onSelect={(from, to) => onRange({ period: undefined, after: isoOf(from), before: isoOf(to) })}
          />
        )}
        {!isPending && times.length === 0 && <p className="text-soft">No events.</p>}
      </div>
      <Outliers
        count={outliers?.before2000}
        where="before the year 2000"
        onShow={() => onRange({ period: undefined, after: undefined, before: '2000-01-01' })}
      />
      <Outliers
        count={outliers?.inFuture}
        where="in the future"
        onShow={() => onRange({ period: undefined, after: tomorrow, before: undefined })}
      />
    </Section>
  );
}

function isoOf(seconds: number): string {
  return new Date(Math.round(seconds) * 1000).toISOString();
}

interface OutliersProps {
  readonly count: number | undefined;
  readonly where: string;
  readonly onShow: () => void;
}

/** Reports events excluded from the chart, because they would compress all others. */
function Outliers({ count = 0, where, onShow }: OutliersProps) {
  if (count === 0) return null;
  return (
    <p className="flex items-center gap-2 pt-1 text-sm text-soft">
      Not shown: {counted(count, 'event')} {where}.
      <Button size="small" aria-label={`Show events ${where}`} onClick={onShow}>
        Show
      </Button>
    </p>
  );
}

interface VolumeOptions {
  readonly projectId: number;
  readonly filter: Query;
  /** Initial interval, from the filter alone. */
  readonly interval: Interval;
  readonly zone: string;
  readonly enabled: boolean;
  readonly now: number;
}

/**
 * Counts events with the finest interval that suits their range. A coarse count finds the range first; events within one day take
 * three requests, each over fewer events.
 */
function useVolume({ interval, ...options }: VolumeOptions) {
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
