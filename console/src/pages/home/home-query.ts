import type { Static } from 'typebox';
import type { eventCountsSchema, eventPageSchema } from '../../../../src/wire/contract/events.ts';
import type { ImportRunsRecord } from '../../../../src/wire/contract/import-runs.ts';
import { apiQuery, projectPath } from '../../api/queries.ts';

export type Counts = Static<typeof eventCountsSchema>;

const hourMs = 3_600_000;
/** Number of hours in the chart. */
export const hours = 48;

/** Returns the first hour of the chart. */
export function chartStart(now: number): number {
  return (Math.floor(now / hourMs) - hours + 1) * hourMs;
}

export function countsQuery(projectId: number, now: number) {
  const after = new Date(chartStart(now)).toISOString();
  return apiQuery<Counts>(projectPath(projectId, 'events/counts'), { interval: 'hour', after, top: 1 });
}

export type ListedRun = ImportRunsRecord['results'][number];

/** The newest runs of all imports. */
export function runsQuery(projectId: number) {
  return apiQuery<ImportRunsRecord>(projectPath(projectId, 'import_runs'), { limit: 20 });
}

/** Fetches one live or historical event, to find out whether any exists. */
export function anyEventQuery(projectId: number, historical: boolean) {
  const query = { limit: 1, historical_migration: historical };
  return apiQuery<Static<typeof eventPageSchema>>(projectPath(projectId, 'events'), query);
}

interface HourlySums {
  /** Unix seconds. */
  readonly times: readonly number[];
  readonly live: readonly number[];
  readonly historical: readonly number[];
}

/** Sums events by hour, without gaps. */
export function hourlySums(counts: Counts['results'], start: number): HourlySums {
  const zeros = (): number[] => Array.from({ length: hours }, () => 0);
  const sums = { live: zeros(), historical: zeros() };
  for (const { time, historical_migration: historical, count } of counts) {
    const hour = Math.floor((Date.parse(time) - start) / hourMs);
    const lane = sums[historical ? 'historical' : 'live'];
    if (hour >= 0 && hour < hours) lane[hour] = (lane[hour] ?? 0) + count;
  }
  return { times: Array.from({ length: hours }, (_, hour) => start / 1000 + hour * 3600), ...sums };
}
