import { dayMs } from '../../../base/time.ts';
import type { ReportCell, ReportResult } from './report.ts';

/** More bars would be too thin to see. */
const binsMax = 160;
/** Names with their own colour; the others share one. */
export const seriesMax = 5;

export interface TimeBin {
  /** `2024-03-01`, `week of 2024-02-26`, `2024-03`, `2024`. */
  readonly label: string;
  /** Events to load by series; the last entry is everything else. */
  readonly counts: readonly number[];
  readonly toLoad: number;
  /** Events in the store, or acknowledged by the target if the store was not read. */
  readonly stored: number;
}

export interface TimeBins {
  readonly unit: 'day' | 'week' | 'month' | 'year';
  /** Without gaps: days without events are bins too. */
  readonly bins: readonly TimeBin[];
  readonly series: readonly string[];
  /** Events to load before 2000 or in the future, if others are not: they would compress the chart. */
  readonly outside: number;
}

interface Unit {
  readonly unit: TimeBins['unit'];
  readonly startOf: (day: Date) => Date;
  readonly next: (start: Date) => Date;
  readonly label: (start: Date) => string;
}

const units: readonly Unit[] = [
  { unit: 'day', startOf: (day) => day, next: (start) => after(start, 1), label: isoDay },
  {
    unit: 'week',
    startOf: (day) => after(day, -((day.getUTCDay() + 6) % 7)),
    next: (start) => after(start, 7),
    label: (start) => `week of ${isoDay(start)}`,
  },
  {
    unit: 'month',
    startOf: (day) => utc(day.getUTCFullYear(), day.getUTCMonth()),
    next: (start) => utc(start.getUTCFullYear(), start.getUTCMonth() + 1),
    label: (start) => isoDay(start).slice(0, 7),
  },
];
const years: Unit = {
  unit: 'year',
  startOf: (day) => utc(day.getUTCFullYear(), 0),
  next: (start) => utc(start.getUTCFullYear() + 1, 0),
  label: (start) => isoDay(start).slice(0, 4),
};

type Charted = Pick<ReportResult, 'cells' | 'days' | 'made_at'>;
type Rows = ReportResult['cells']['rows'];

function usualDays(rows: Rows, madeAt: string): { readonly rows: Rows; readonly outside: number } {
  const tomorrow = isoDay(after(new Date(madeAt), 1));
  const isUsual = ({ day }: Rows[number]): boolean => day >= '2000-01-01' && day <= tomorrow;
  const usual = rows.filter(isUsual);
  if (usual.length === 0) return { rows, outside: 0 };
  const others = rows.filter((row) => !isUsual(row)).flatMap(({ counts }) => counts);
  return { rows: usual, outside: others.reduce<number>((sum, cell) => sum + toLoadOf(cell), 0) };
}

/** Divides the days of a report into visible bars. Returns `undefined` for a report without events. */
export function timeBins({ cells, days, made_at: madeAt }: Charted): TimeBins | undefined {
  const { rows, outside } = usualDays(cells.rows, madeAt);
  const first = rows[0];
  const last = rows.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const from = dateOf(first.day);
  const to = dateOf(last.day);
  const unit = units.find((each) => startsOf(each, from, to).length <= binsMax) ?? years;
  // Years are few if times are right; otherwise the first ones are shown.
  const starts = startsOf(unit, from, to).slice(0, binsMax);
  const series = cells.events.slice(0, seriesMax);
  const hasRest = rows.some(({ counts }) => counts.slice(series.length).some((cell) => toLoadOf(cell) > 0));
  const width = series.length + (hasRest ? 1 : 0);
  const byStart = new Map(starts.map((start) => [start.getTime(), { counts: zeros(width), stored: 0 }]));
  const storedOf = new Map(days.map((day) => [day.day, day.verified ?? day.loaded]));
  for (const { day, counts } of rows) {
    const bin = byStart.get(unit.startOf(dateOf(day)).getTime());
    if (bin === undefined) continue;
    bin.stored += storedOf.get(day) ?? 0;
    counts.forEach((cell, index) => {
      const place = Math.min(index, width - 1);
      bin.counts[place] = (bin.counts[place] ?? 0) + toLoadOf(cell);
    });
  }
  const bins = starts.map((start): TimeBin => {
    const { counts, stored } = byStart.get(start.getTime()) ?? { counts: zeros(width), stored: 0 };
    return { label: unit.label(start), counts, toLoad: counts.reduce((total, count) => total + count, 0), stored };
  });
  return { unit: unit.unit, bins, series: hasRest ? [...series, ''] : series, outside };
}

function toLoadOf(cell: ReportCell): number {
  return typeof cell === 'number' ? cell : cell[0];
}

/** Returns at most one more than can be shown, because wrong times may span thousands of years. */
function startsOf(unit: Unit, from: Date, to: Date): Date[] {
  const starts: Date[] = [];
  for (let start = unit.startOf(from); start <= to && starts.length <= binsMax; start = unit.next(start)) {
    starts.push(start);
  }
  return starts;
}

function zeros(length: number): number[] {
  return Array.from({ length }, () => 0);
}

function dateOf(day: string): Date {
  return new Date(`${day}T00:00:00Z`);
}

function after(day: Date, days: number): Date {
  return new Date(day.getTime() + days * dayMs);
}

/** Unlike Date.UTC, does not map the years 0 to 99 to the last century. */
function utc(year: number, month: number): Date {
  const date = new Date(0);
  date.setUTCFullYear(year, month, 1);
  return date;
}

function isoDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}
