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
}

/** Adds to what is counted. Belongs into the transaction that moves the cursor, so that nothing counts twice. */
export async function addConfigCounts(tx: Queries, counts: readonly ConfigCounts[]): Promise<void> {
  for (const { configId, projectId, hour, succeeded, failed, dropped } of counts) {
    await tx
      .insertInto('plugin_metrics')
      .values({ config_id: configId, project_id: projectId, hour, succeeded, failed, dropped })
      .onConflict((conflict) =>
        conflict.columns(['config_id', 'hour']).doUpdateSet((eb) => ({
          succeeded: eb('plugin_metrics.succeeded', '+', eb.ref('excluded.succeeded')),
          failed: eb('plugin_metrics.failed', '+', eb.ref('excluded.failed')),
          dropped: eb('plugin_metrics.dropped', '+', eb.ref('excluded.dropped')),
        })),
      )
      .execute();
  }
}
