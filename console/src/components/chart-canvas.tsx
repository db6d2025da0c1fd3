import { useEffect, useRef, useSyncExternalStore } from 'react';
import UPlot, { type Options, type Series } from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { ChartProps, ChartTone } from './chart.tsx';

interface ChartCanvasProps extends ChartProps {
  readonly height: number;
  readonly format: (value: number) => string;
  readonly timezone: string;
}

/** Wraps uPlot. The plot is rebuilt when the theme or the kind of series changes; new values update it in place. */
export function ChartCanvas(props: ChartCanvasProps) {
  const { times, series, height, kind = 'line', format, timezone } = props;
  const hostRef = useRef<HTMLDivElement>(null);
  const plotRef = useRef<UPlot>(undefined);
  const theme = useSyncExternalStore(subscribeTheme, themeNow);
  const values = series.map((each) => each.values);
  const data = [times, ...(kind === 'bars' ? stacked(values) : values)] as unknown as UPlot.AlignedData;
  const { onSelect } = props;
  const latest = useRef({ data, values, format, onSelect });
  latest.current = { data, values, format, onSelect };
  const hasSelect = onSelect !== undefined;
  const shape = series.map(({ label, tone }) => `${label}:${tone}`).join('|');
  useEffect(() => {
    const host = hostRef.current;
    if (host === null) return undefined;
    const colour = (name: string): string => getComputedStyle(host).getPropertyValue(`--${name}`);
    const axis = { stroke: colour('faint'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false } };
    const isInteger = latest.current.values.flat().every((value) => Number.isInteger(value ?? 0));
    const ticks = isInteger ? integerTicks : anyTicks;
    const options: Options = {
      width: host.clientWidth,
      height,
      cursor: { y: false, drag: { x: true, y: false, setScale: !hasSelect } },
      legend: { live: true },
      tzDate: (seconds) => zoned(seconds, timezone),
      axes: [
        { ...axis, values: timeLabels },
        {
          ...axis,
          size: (_plot, values) => axisWidth(values),
          incrs: ticks,
          values: (_plot, splits) => splits.map((value) => latest.current.format(value)),
        },
      ],
      scales: {
        ...(kind === 'bars' && { x: { range: (plot: UPlot, low: number, high: number) => barRange(plot, low, high) } }),
        y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, 1)] },
      },
      series: [
        {
          value: (_plot, seconds) =>
            seconds === null ? '' : UPlot.fmtDate('{YYYY}-{MM}-{DD} {HH}:{mm}')(zoned(seconds, timezone)),
        },
        ...shape.split('|').map((each, index) =>
          // The legend shows the value itself, not the height of the stack.
          seriesOf(each, kind, colour, (_plot, _height, _series, at) =>
            formatValue(at === null ? null : latest.current.values[index]?.[at], latest.current.format),
          ),
        ),
      ],
    };
    options.hooks = hooksOf(host, kind, hasSelect ? (from, to) => latest.current.onSelect?.(from, to) : undefined);
    host.dataset['hover'] = 'false';
    const plot = new UPlot(options, latest.current.data, host);
    plotRef.current = plot;
    const observer = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height }));
    observer.observe(host);
    return () => {
      observer.disconnect();
      plot.destroy();
      plotRef.current = undefined;
    };
  }, [shape, kind, height, timezone, theme, hasSelect]);
  useEffect(() => plotRef.current?.setData(data));
  return <div ref={hostRef} className="w-full" />;
}

type Kind = NonNullable<ChartProps['kind']>;

function hooksOf(host: HTMLElement, kind: Kind, onSelect: ChartProps['onSelect']): NonNullable<Options['hooks']> {
  return {
    // Without a cursor the legend only names the series.
    setLegend: [(plot) => (host.dataset['hover'] = String(plot.cursor.idx !== null && plot.cursor.idx !== undefined))],
    setSelect: [(plot) => onSelect && selectRange(plot, kind, onSelect)],
  };
}

/** In pixels, for labels such as 1,000,000. uPlot asks for it before it knows any. */
function axisWidth(labels: readonly string[] | null): number {
  return Math.max(56, 20 + 7 * Math.max(0, ...(labels ?? []).map(({ length }) => length)));
}

function seriesOf(shape: string, kind: Kind, colour: (name: string) => string, value: Series.Value): Series {
  const end = shape.lastIndexOf(':');
  const stroke = colour(shape.slice(end + 1) satisfies string as ChartTone);
  const bars = kind === 'bars' ? UPlot.paths.bars?.({ size: [0.8, 40] }) : undefined;
  return {
    label: shape.slice(0, end),
    stroke,
    width: kind === 'bars' ? 0 : 1.5,
    points: { show: false },
    value,
    ...(bars && { fill: stroke, paths: bars }),
  };
}

function formatValue(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

type Values = readonly (number | null)[];

/** Returns the top of each bar. Later series are drawn over earlier ones, so each includes all series after it. */
function stacked(series: readonly Values[]): readonly Values[] {
  const tops: Values[] = [];
  for (let above: Values | undefined, at = series.length - 1; at >= 0; at -= 1) {
    const below = above;
    above = (series[at] ?? []).map((value, index) => (value ?? 0) + (below?.[index] ?? 0));
    tops.unshift(above);
  }
  return tops;
}

/** Reports a dragged range and clears its highlight. A click selects nothing. */
function selectRange(plot: UPlot, kind: Kind, onSelect: (from: number, to: number) => void): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  // A bar is centred on the start of its interval.
  const shift = kind === 'bars' ? halfBar(plot) : 0;
  const [from, to] = [plot.posToVal(left, 'x') + shift, plot.posToVal(left + width, 'x') + shift];
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onSelect(from, to);
}

/** Adds half a bar on each side: bars are centred on their time, so the first and last would be cut off. */
function barRange(plot: UPlot, low: number, high: number): [number, number] {
  const half = halfBar(plot);
  return [low - half, high + half];
}

function halfBar(plot: UPlot): number {
  const [first = 0, second = first + 1] = plot.data[0];
  return (second - first) / 2;
}

function zoned(seconds: number, timezone: string): Date {
  try {
    return UPlot.tzDate(new Date(seconds * 1000), timezone);
  } catch {
    // The browser does not support this time zone.
    return UPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC');
  }
}

const anyTicks = Array.from({ length: 22 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** (power - 6))).flat();
/** Counts have no fractional ticks. */
const integerTicks = anyTicks.filter((tick) => tick >= 1);

/** Per tick distance in seconds: the label, and what it adds at the start of a year, day or minute. */
const timeLabels = [
  [365 * 86_400, '{YYYY}', null, null, null, null, null, null, 1],
  [28 * 86_400, '{MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [86_400, '{D} {MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [60, '{HH}:{mm}', '\n{D} {MMM} {YYYY}', null, '\n{D} {MMM}', null, null, null, 1],
  [1, ':{ss}', '\n{D} {MMM} {HH}:{mm}', null, '\n{D} {MMM} {HH}:{mm}', null, '\n{HH}:{mm}', null, 1],
];

function themeNow(): string {
  return document.documentElement.dataset['theme'] ?? 'light';
}

function subscribeTheme(onChange: () => void): () => void {
  const observer = new MutationObserver(onChange);
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => observer.disconnect();
}
