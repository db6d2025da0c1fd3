import { hourMs } from '../../base/time.ts';
import { isoMicros } from '../../base/clock.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { hourOf } from './own-metrics.ts';

interface ConfigMetricsQuery {
  readonly projectId: number;
  readonly configId: number;
  /** ms since the epoch, inclusive; its whole hour or day counts. */
  readonly from: number;
  /** ms since the epoch, exclusive. */
  readonly to: number;
  /** Days are UTC. */
  readonly interval: 'hour' | 'day';
}

export interface MetricCounts {
  succeeded: number;
  failed: number;
  dropped: number;
  skipped: number;
  /** Time spent, µs. */
  micros: number;
}

interface ConfigMetrics {
  /** Every hour or day of the range, oldest first. */
  readonly points: readonly (Readonly<MetricCounts> & { /** ISO 8601 UTC. */ readonly start: string })[];
  readonly totals: Readonly<MetricCounts>;
}

export interface MetricsOfAll {
  /** Starts of the intervals, ISO 8601 UTC, oldest first. */
  readonly starts: readonly string[];
  readonly byConfig: ReadonlyMap<number, ConfigMetrics>;
}

const widths = { hour: hourMs, day: 24 * hourMs } as const;
export const pointsMax = 10_000;
/** Points for each of many configs. */
const pointsOfAllMax = 1000;

/** Lists what a config processed. @throws RangeError if the range has more than 10,000 points */
export async function listConfigMetrics(
  db: Queries,
  { projectId, configId, ...range }: ConfigMetricsQuery,
): Promise<ConfigMetrics> {
  const grid = gridOf(range, pointsMax);
  const rows = await selectCounts(db, projectId, grid, range.to).where('config_id', '=', configId).execute();
  return sumUp(grid, rows);
}

/** The same for many configs of a project, in one query. @throws RangeError if the range has more than 1,000 points */
export async function listAllConfigMetrics(
  db: Queries,
  { projectId, configIds, ...range }: Omit<ConfigMetricsQuery, 'configId'> & { readonly configIds: readonly number[] },
): Promise<MetricsOfAll> {
  const grid = gridOf(range, pointsOfAllMax);
  const found = configIds.length === 0 ? undefined : selectCounts(db, projectId, grid, range.to);
  const rows = (await found?.where('config_id', 'in', configIds).execute()) ?? [];
  const byConfig = Map.groupBy(rows, (row) => row.config_id);
  return {
    starts: Array.from({ length: grid.count }, (_, index) => isoMicros(grid.start + index * grid.width)),
    byConfig: new Map(configIds.map((id) => [id, sumUp(grid, byConfig.get(id) ?? [])])),
  };
}

/** Consecutive intervals; times are in ms since the epoch. */
interface Grid {
  readonly start: number;
  readonly width: number;
  readonly count: number;
}

function gridOf({ from, to, interval }: Pick<ConfigMetricsQuery, 'from' | 'to' | 'interval'>, countMax: number): Grid {
  const width = widths[interval];
  const start = Math.floor(from / width) * width;
  const count = Math.max(0, Math.ceil((to - start) / width));
  if (count <= countMax) return { start, width, count };
  throw new RangeError(`expected a range of at most ${countMax} ${interval}s, got: ${count}; choose a shorter one`);
}

function selectCounts(db: Queries, projectId: number, { start }: Grid, to: number) {
  return db
    .selectFrom('plugin_metrics')
    .select(['config_id', 'hour', 'succeeded', 'failed', 'dropped', 'skipped', 'micros'])
    .where('project_id', '=', projectId)
    .where('hour', '>=', hourOf(start))
    .where('hour', '<', isoMicros(to));
}

function sumUp(
  { start, width, count }: Grid,
  rows: readonly (MetricCounts & { readonly hour: string })[],
): ConfigMetrics {
  const points = Array.from({ length: count }, (_, index) => ({ start: isoMicros(start + index * width), ...none() }));
  const totals = none();
  for (const row of rows) {
    const point = points[Math.floor((Date.parse(row.hour) - start) / width)];
    for (const each of point === undefined ? [totals] : [totals, point]) add(each, row);
  }
  return { points, totals };
}

function none(): MetricCounts {
  return { succeeded: 0, failed: 0, dropped: 0, skipped: 0, micros: 0 };
}

function add(sum: MetricCounts, counts: MetricCounts): void {
  sum.succeeded += Number(counts.succeeded);
  sum.failed += Number(counts.failed);
  sum.dropped += Number(counts.dropped);
  sum.skipped += Number(counts.skipped);
  sum.micros += Number(counts.micros);
}

/** What a config processed within an hour. */
export interface ConfigCounts extends MetricCounts {
  readonly configId: number;
  readonly projectId: number;
  /** Start of the hour, ISO 8601 with microseconds. */
  readonly hour: string;
}

const columns = ['succeeded', 'failed', 'dropped', 'skipped', 'micros'] as const;

/**
 * Adds to the counts. Belongs to the transaction that moves the cursor, so that nothing counts twice. Other slots may count the same
 * configs, so rows are written in a fixed order that cannot deadlock.
 */
export async function addConfigCounts(tx: Queries, counts: readonly ConfigCounts[]): Promise<void> {
  const ordered = counts.toSorted((a, b) => a.configId - b.configId || (a.hour < b.hour ? -1 : 1));
  for (const { configId, projectId, ...values } of ordered) {
    await tx
      .insertInto('plugin_metrics')
      .values({ config_id: configId, project_id: projectId, ...values, micros: Math.round(values.micros) })
      .onConflict((conflict) =>
        conflict
          .columns(['config_id', 'hour'])
          .doUpdateSet((eb) =>
            Object.fromEntries(
              columns.map((column) => [column, eb(`plugin_metrics.${column}`, '+', eb.ref(`excluded.${column}`))]),
            ),
          ),
      )
      .execute();
  }
}
