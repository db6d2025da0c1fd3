import type { IngestionWarningRecord } from '../../../../src/wire/contract/ingestion-warnings.ts';
import { apiQuery, projectPath } from '../../api/queries.ts';
import type { periods } from './warnings-search.ts';

export type Warning = IngestionWarningRecord;
export type Period = (typeof periods)[number];

const hourMs = 3_600_000;
export const periodHours: Readonly<Record<Period, number>> = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 };

/** Returns the first hour of the period that ends now. Whole hours, so that the request can be cached. */
export function periodStart(period: Period, now: number): number {
  return (Math.floor(now / hourMs) - periodHours[period] + 1) * hourMs;
}

export function warningsQuery(projectId: number, period: Period, now: number) {
  const after = new Date(periodStart(period, now)).toISOString();
  return apiQuery<{ readonly results: readonly Warning[] }>(projectPath(projectId, 'ingestion_warnings'), { after });
}

/** Returns counts by hour without gaps; the API omits hours without warnings. */
export function hourlyCounts(sparkline: Warning['sparkline'], start: number, hours: number): number[] {
  const counts = new Map(sparkline.map(({ hour, count }) => [Date.parse(hour), count]));
  return Array.from({ length: hours }, (_, index) => counts.get(start + index * hourMs) ?? 0);
}

/** Sums adjacent counts, so that a long period fits into a few bars. */
export function inBars(counts: readonly number[], bars: number): number[] {
  const size = Math.max(1, Math.ceil(counts.length / bars));
  return Array.from({ length: Math.ceil(counts.length / size) }, (_, index) =>
    counts.slice(index * size, (index + 1) * size).reduce((sum, count) => sum + count, 0),
  );
}

/** Filters warnings by text in type or meaning, and by severity. */
export function filterWarnings(
  warnings: readonly Warning[],
  { q = '', severity }: { readonly q?: string | undefined; readonly severity?: Warning['severity'] | undefined },
): readonly Warning[] {
  const wanted = q.toLowerCase();
  return warnings.filter(
    (warning) =>
      (severity === undefined || warning.severity === severity) &&
      `${warning.type} ${warning.meaning}`.toLowerCase().includes(wanted),
  );
}
