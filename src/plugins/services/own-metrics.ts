import { hourMs } from '../../base/time.ts';
import { sql } from 'kysely';
import { isoMicros, type Clock } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { storable } from './plugin-logs.ts';
import { createWriteBuffer } from './write-buffer.ts';
import type { WarnLog } from '../../server/telemetry/log.ts';

type OwnMetricKind = 'sum' | 'min' | 'max';

/** One value, or several of an hour already merged. */
export interface OwnMetric {
  readonly configId: number;
  readonly projectId: number;
  /** Start of the hour, ISO 8601 with microseconds. */
  readonly hour: string;
  readonly name: string;
  readonly kind: OwnMetricKind;
  readonly value: number;
}

const rowsPerInsertMax = 200;
const nameCharsMax = 200;
/** Maximum names of one config in an hour. */
export const namesMax = 100;

/** Returns the start of the hour of a time in ms. */
export function hourOf(timeMs: number): string {
  return isoMicros(Math.floor(timeMs / hourMs) * hourMs);
}

/** Merges values with the stored ones of their hour. A metric whose kind has changed starts from scratch. */
export async function addOwnMetrics(db: Queries, metrics: readonly OwnMetric[]): Promise<void> {
  const rows = combine(metrics).map(({ configId, projectId, hour, name, kind, value }) => {
    return { config_id: configId, project_id: projectId, hour, name, kind, value };
  });
  for (let from = 0; from < rows.length; from += rowsPerInsertMax) {
    await db
      .insertInto('plugin_own_metrics')
      .values(rows.slice(from, from + rowsPerInsertMax))
      .onConflict((conflict) =>
        conflict.columns(['config_id', 'hour', 'name']).doUpdateSet((eb) => ({
          kind: eb.ref('excluded.kind'),
          value: sql<number>`case
            when plugin_own_metrics.kind <> excluded.kind then excluded.value
            when excluded.kind = 'sum' then plugin_own_metrics.value + excluded.value
            when (excluded.kind = 'min') = (excluded.value < plugin_own_metrics.value) then excluded.value
            else plugin_own_metrics.value end`,
        })),
      )
      .execute();
  }
}

/** Returns one row per name and hour; sorted, so that two transactions cannot deadlock. */
function combine(metrics: readonly OwnMetric[]): OwnMetric[] {
  const combined = new Map<string, OwnMetric>();
  for (const metric of metrics) {
    const name = storable(metric.name, nameCharsMax);
    const id = JSON.stringify([metric.configId, metric.hour, name]);
    const before = combined.get(id);
    const value = before?.kind === metric.kind ? merge(metric.kind, before.value, metric.value) : metric.value;
    if (Number.isFinite(value)) combined.set(id, { ...metric, name, value });
  }
  return [...combined].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, metric]) => metric);
}

function merge(kind: OwnMetricKind, a: number, b: number): number {
  if (kind === 'sum') return a + b;
  return kind === 'min' ? Math.min(a, b) : Math.max(a, b);
}

export interface StoredOwnMetric {
  readonly name: string;
  readonly kind: OwnMetricKind;
  /** Start of the hour. */
  readonly hour: string;
  readonly value: number;
}

/** Lists by name and hour. `from` (inclusive) and `to` (exclusive) are in ms since the epoch. */
export async function listOwnMetrics(
  db: Queries,
  { projectId, configId, from, to }: { projectId: number; configId: number; from: number; to: number },
): Promise<StoredOwnMetric[]> {
  return db
    .selectFrom('plugin_own_metrics')
    .select(['name', 'kind', 'hour', 'value'])
    .where('config_id', '=', configId)
    .where('project_id', '=', projectId)
    .where('hour', '>=', hourOf(from))
    .where('hour', '<', isoMicros(to))
    .orderBy('name')
    .orderBy('hour')
    .execute();
}

export interface OwnMetricsWriter {
  /** Never throws and never waits. Non-numbers are dropped. */
  add(configId: number, projectId: number, metric: Pick<OwnMetric, 'name' | 'kind' | 'value'>): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Buffers values and writes them soon, together. */
export function createOwnMetrics(
  db: Metadata,
  { clock, log }: { readonly clock: Clock; readonly log: WarnLog },
): OwnMetricsWriter {
  const buffer = createWriteBuffer<OwnMetric>({
    what: 'metrics of plugins',
    log,
    rowsPerWrite: 5000,
    rowsMax: 50_000,
    flushMs: 1000,
    write: (metrics) => addOwnMetrics(db, metrics),
  });
  const names = new Map<number, { readonly hour: string; readonly names: Set<string> }>();
  return {
    add: (configId, projectId, { name, kind, value }) => {
      if (!Number.isFinite(value)) return;
      const hour = hourOf(clock.now());
      let known = names.get(configId);
      if (known?.hour !== hour) names.set(configId, (known = { hour, names: new Set() }));
      if (known.names.size >= namesMax && !known.names.has(name)) return;
      known.names.add(name);
      buffer.add({ configId, projectId, hour, name, kind, value });
    },
    flush: buffer.flush,
    close: buffer.close,
  };
}
