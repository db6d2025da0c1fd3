import type { ChartSeries, ChartTone } from '../../components/chart.tsx';
import { visible } from '../../components/plain-text.ts';
import type { EventCounts, Interval } from './events-query.ts';

const tones: readonly ChartTone[] = ['accent', 'info', 'ok', 'warn', 'violet', 'soft'];
const seconds: Readonly<Record<Interval, number>> = { hour: 3_600, day: 86_400, week: 604_800, month: 2_592_000 };

interface Volume {
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
}

/** Converts counts to series: one for each of the largest events and lanes, the others combined in the last one. */
export function volumeOf(results: EventCounts['results'], interval: Interval): Volume {
  const sums = new Map<string, number>();
  for (const row of results) sums.set(labelOf(row), (sums.get(labelOf(row)) ?? 0) + row.count);
  const ranked = [...sums].sort(([, left], [, right]) => right - left).map(([label]) => label);
  const named = ranked.length > tones.length ? ranked.slice(0, tones.length - 1) : ranked;
  const times = withMargin([...new Set(results.map(({ time }) => Date.parse(time) / 1000))].sort(byNumber), interval);
  const indexByTime = new Map(times.map((time, index) => [time, index]));
  const labels = named.length < ranked.length ? [...named, 'all others'] : named;
  const values = new Map(labels.map((label) => [label, times.map(() => 0)]));
  for (const row of results) {
    const line = values.get(labelOf(row)) ?? values.get('all others');
    const index = indexByTime.get(Date.parse(row.time) / 1000);
    if (line !== undefined && index !== undefined) line[index] = (line[index] ?? 0) + row.count;
  }
  const series = labels.map((label, index) => ({
    label,
    tone: tones[index] ?? 'soft',
    values: values.get(label) ?? [],
  }));
  return { times, series };
}

function labelOf({ event, historical_migration }: EventCounts['results'][number]): string {
  const shown = visible(event ?? 'other events');
  const name = shown.length > 40 ? `${shown.slice(0, 40)}…` : shown;
  return historical_migration ? `${name} (historical)` : name;
}

/** Adds an empty interval on both sides, so that even a single interval is drawn with its width. */
function withMargin(times: readonly number[], interval: Interval): number[] {
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return [];
  return [first - seconds[interval], ...times, last + seconds[interval]];
}

function byNumber(left: number, right: number): number {
  return left - right;
}
