import { hourMs } from '../../base/time.ts';
import { isoMicros } from '../../base/clock.ts';
import type { Queries } from '../../metadata/queries.ts';
import { hourOf } from './own-metrics.ts';

export interface ConfigMetricsQuery {
  readonly projectId: number;
  readonly configId: number;
  /** ms since the epoch, inclusive; the hour or day that it lies in counts whole. */
  readonly from: number;
  /** ms since the epoch, exclusive. */
  readonly to: number;
  /** Days are those of UTC. */
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

export interface ConfigMetrics {
  /** Every hour or day of the range, oldest first. */
  readonly points: readonly (Readonly<MetricCounts> & { /** ISO 8601 UTC. */ readonly start: string })[];
  readonly totals: Readonly<MetricCounts>;
}

const widths = { hour: hourMs, day: 24 * hourMs } as const;
export const pointsMax = 10_000;

/** What passed through a config. @throws RangeError when the range has more than 10,000 points */
export async function listConfigMetrics(
  db: Queries,
  { projectId, configId, from, to, interval }: ConfigMetricsQuery,
): Promise<ConfigMetrics> {
  const width = widths[interval];
  const start = Math.floor(from / width) * width;
  const count = Math.max(0, Math.ceil((to - start) / width));
  if (!(count <= pointsMax)) {
    throw new RangeError(`expected a range of at most ${pointsMax} ${interval}s, got: ${count}; choose a shorter one`);
  }
  const points = Array.from({ length: count }, (_, index) => ({ start: isoMicros(start + index * width), ...none() }));
  const totals = none();
  const rows = await db
    .selectFrom('plugin_metrics')
    .select(['hour', 'succeeded', 'failed', 'dropped', 'skipped', 'micros'])
    .where('config_id', '=', configId)
    .where('project_id', '=', projectId)
    .where('hour', '>=', hourOf(start))
    .where('hour', '<', isoMicros(to))
    .execute();
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

/** What passed through a config within an hour. */
export interface ConfigCounts extends MetricCounts {
  readonly configId: number;
  readonly projectId: number;
  /** Start of the hour, ISO 8601 with microseconds. */
  readonly hour: string;
}

const columns = ['succeeded', 'failed', 'dropped', 'skipped', 'micros'] as const;

/** Adds to what is counted. Belongs into the transaction that moves the cursor, so that nothing counts twice. */
export async function addConfigCounts(tx: Queries, counts: readonly ConfigCounts[]): Promise<void> {
  for (const { configId, projectId, ...values } of counts) {
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
