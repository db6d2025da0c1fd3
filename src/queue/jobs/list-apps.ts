import type { Capabilities } from '../../wire/contract/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/** An enabled config whose installed plugin has work besides the chain. */
export interface AppRow {
  readonly configId: number;
  readonly projectId: number;
  readonly versionId: number;
  /** ISO 8601 with microseconds. */
  readonly updatedAt: string;
  readonly capabilities: Capabilities;
}

/** `parsed` keeps what was read before: versions never change. */
export async function listApps(db: Queries, parsed: Map<number, Capabilities>): Promise<AppRow[]> {
  const rows = await db
    .selectFrom('plugin_configs as c')
    .innerJoin('plugin_versions as v', 'v.id', 'c.plugin_version_id')
    .select(['c.id', 'c.project_id', 'c.updated_at', 'v.id as version_id', 'v.capabilities'])
    .where('c.enabled', '=', 1)
    .where('c.deleted', '=', 0)
    .orderBy('c.id')
    .execute();
  const apps = rows.map((row) => {
    const capabilities = parsed.get(row.version_id) ?? (JSON.parse(row.capabilities) as Capabilities);
    parsed.set(row.version_id, capabilities);
    return {
      configId: row.id,
      projectId: row.project_id,
      versionId: row.version_id,
      updatedAt: row.updated_at,
      capabilities,
    };
  });
  const used = new Set(apps.map(({ versionId }) => versionId));
  for (const versionId of parsed.keys()) if (!used.has(versionId)) parsed.delete(versionId);
  return apps.filter(({ capabilities }) => hasWork(capabilities));
}

function hasWork({ scheduled_tasks: tasks, jobs, methods }: Capabilities): boolean {
  return tasks.length > 0 || jobs.length > 0 || methods.includes('onEvent') || methods.includes('exportEvents');
}
