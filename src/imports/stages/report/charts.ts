import { integer } from '../../../base/integer-text.ts';
import { durationText } from './figures.ts';
import { cut, html as markup, nothing, type Html } from '../../../base/html.ts';
import type { EventLine, StageLine } from './report.ts';
import { seriesMax, type TimeBin, type TimeBins } from './time-bins.ts';

const chart = { width: 960, height: 260, left: 62, right: 8, top: 12, bottom: 26 } as const;
const plot = {
  width: chart.width - chart.left - chart.right,
  height: chart.height - chart.top - chart.bottom,
} as const;
const barsMax = 20;
const labelCharsMax = 34;

/** Renders events by time: expected ones stacked by name, and a dot for stored ones. */
export function timeChart({ bins, unit, series }: TimeBins, isStored: boolean): Html {
  const highest = Math.max(1, ...bins.map(({ toLoad, stored }) => Math.max(toLoad, stored)));
  const step = plot.width / bins.length;
  const top = niceTop(highest);
  const y = (count: number): number => round(chart.top + plot.height * (1 - count / top));
  const bars = bins.map((bin, index) => timeBar(bin, { x: chart.left + index * step, step, y, isStored }));
  const summary = `Events per ${unit}, ${bins.length} in all, at most ${integer(highest)}; the figures are in the table of days.`;
  return markup`<div class="chart"><svg viewBox="0 0 ${chart.width} ${chart.height}" role="img" aria-label="${summary}">
${yAxis(top, y)}${bars}${xAxis(bins, step)}</svg></div>
${legend(series, isStored)}`;
}

interface BarPlace {
  readonly x: number;
  readonly step: number;
  readonly y: (count: number) => number;
  readonly isStored: boolean;
}

function timeBar({ label, counts, toLoad, stored }: TimeBin, { x, step, y, isStored }: BarPlace): Html {
  const gap = step > 4 ? Math.min(3, step * 0.2) : 0;
  const width = round(Math.min(step - gap, 48));
  const left = round(x + (step - width) / 2);
  let below = 0;
  const pieces = counts.map((count, index) => {
    const from = y(below);
    const to = y(below + count);
    below += count;
    if (count === 0) return nothing;
    return markup`<rect class="f${Math.min(index, seriesMax)}" x="${left}" y="${to}" width="${width}" height="${round(from - to)}"/>`;
  });
  const dot = markup`<circle class="dot" cx="${round(x + step / 2)}" cy="${y(stored)}" r="${step > 9 ? 3 : 1.8}"/>`;
  const storedText = isStored ? `, ${integer(stored)} stored` : '';
  const title = `${label}: ${integer(toLoad)} expected${storedText}`;
  return markup`<g><title>${title}</title>${pieces}${isStored && toLoad + stored > 0 ? dot : nothing}</g>`;
}

function yAxis(top: number, y: (count: number) => number): Html {
  const lines = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const count = top * share;
    const end = chart.width - chart.right;
    return markup`<line class="axis" x1="${chart.left}" x2="${end}" y1="${y(count)}" y2="${y(count)}"/>
<text x="${chart.left - 8}" y="${y(count) + 4}" text-anchor="end">${compact(count)}</text>`;
  });
  return markup`${lines}`;
}

function xAxis(bins: readonly TimeBin[], step: number): Html {
  const every = Math.max(1, Math.ceil(bins.length / 8));
  const labels = bins.map(({ label }, index) => {
    if (index % every !== 0) return nothing;
    const x = round(chart.left + (index + 0.5) * step);
    return markup`<text x="${x}" y="${chart.height - 8}" text-anchor="middle">${label.replace('week of ', '')}</text>`;
  });
  return markup`${labels}`;
}

function legend(series: readonly string[], isStored: boolean): Html {
  const items = series.map(
    (name, index) =>
      markup`<li><svg viewBox="0 0 12 12" aria-hidden="true"><rect class="f${Math.min(index, seriesMax)}" width="12" height="12" rx="2"/></svg>${shownName(name)}</li>`,
  );
  const dot = markup`<li><svg viewBox="0 0 12 12" aria-hidden="true"><circle class="dot" cx="6" cy="6" r="4"/></svg>stored</li>`;
  return markup`<ul class="legend">${items}${isStored ? dot : nothing}</ul>`;
}

/** Renders the most frequent names, and the rest as one bar. */
export function eventChart(lines: readonly EventLine[]): Html {
  const shown = lines.slice(0, barsMax);
  const highest = Math.max(1, ...shown.map(({ to_load: toLoad }) => toLoad));
  const rows = shown.map((line, index) => {
    const name = line.event === '' ? `${integer(line.names)} other names` : cut(line.event, labelCharsMax);
    return barRow(index, name, line.to_load / highest, integer(line.to_load));
  });
  return barChart(rows, `The ${shown.length} most frequent events; the figures are in the table of events.`);
}

/** Renders the duration of each stage. */
export function stageChart(lines: readonly StageLine[]): Html {
  const begun = lines.filter(({ duration_ms: durationMs }) => durationMs !== null);
  const longest = Math.max(1, ...begun.map(({ duration_ms: durationMs }) => durationMs ?? 0));
  const rows = begun.map(({ stage, duration_ms: durationMs }, index) =>
    barRow(index, stage, (durationMs ?? 0) / longest, durationText(durationMs ?? 0)),
  );
  return barChart(rows, 'Duration of each stage; the figures are in the table below.');
}

const row = { height: 24, label: 250, end: 110 } as const;

function barRow(index: number, name: string, share: number, figure: string): Html {
  const y = index * row.height;
  const width = round(Math.max(1.5, share * (chart.width - row.label - row.end)));
  return markup`<text class="ink" x="${row.label - 10}" y="${y + 16}" text-anchor="end">${name}</text>
<rect class="f0" x="${row.label}" y="${y + 5}" width="${width}" height="15" rx="2"/>
<text x="${round(row.label + width + 8)}" y="${y + 16}">${figure}</text>`;
}

function barChart(rows: readonly Html[], summary: string): Html {
  if (rows.length === 0) return nothing;
  return markup`<div class="chart"><svg viewBox="0 0 ${chart.width} ${rows.length * row.height}" role="img" aria-label="${summary}">${rows}</svg></div>`;
}

export function shownName(name: string): Html {
  return name === '' ? markup`all others` : markup`<bdi>${cut(name, 120)}</bdi>`;
}

/** Rounds up to 1, 2, 4, 5, 10, 20, … */
function niceTop(highest: number): number {
  const power = 10 ** Math.floor(Math.log10(highest));
  const factor = [1, 2, 4, 5, 10].find((each) => each * power >= highest) ?? 10;
  return Math.max(4, factor * power);
}

function compact(count: number): string {
  return count.toLocaleString('en-GB', { notation: 'compact', maximumFractionDigits: 2 });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
