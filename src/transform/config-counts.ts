import type { Queries } from '../metadata/queries.ts';

/** What passed through a config within an hour. */
export interface ConfigCounts {
  readonly configId: number;
  readonly projectId: number;
  /** Start of the hour, ISO 8601 with microseconds. */
  readonly hour: string;
  succeeded: number;
  failed: number;
  dropped: number;
  /** Passed untouched: the config could not run just then, or the event is none of its business. */
  skipped: number;
  /** Time spent, µs. */
  micros: number;
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
