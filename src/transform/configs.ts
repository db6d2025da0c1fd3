import type { Queries } from '../metadata/queries.ts';
import type { SettingValues } from '../plugins/fields.ts';

/** An enabled transformation config as the chain needs it. */
export interface TransformConfig {
  readonly id: number;
  readonly projectId: number;
  readonly slug: string;
  readonly pluginName: string;
  readonly settings: SettingValues;
  /** Keys of the files that it has. */
  readonly attached: ReadonlySet<string>;
  /** Changes with every change of what matters here. */
  readonly version: string;
  readonly updatedAt: string;
  /** Trouble on record. */
  readonly error: string;
}

/** Enabled transformations of every project, not in the bin, in the order in which they run. */
export async function loadTransformConfigs(db: Queries): Promise<TransformConfig[]> {
  const rows = await db
    .selectFrom('plugin_configs as c')
    .innerJoin('plugins as p', 'p.id', 'c.plugin_id')
    .select(['c.id', 'c.project_id', 'c.settings', 'c.updated_at', 'c.error', 'p.slug', 'p.name', 'p.version'])
    .where('c.family', '=', 'transformation')
    .where('c.enabled', '=', 1)
    .where('c.deleted', '=', 0)
    .orderBy('c.project_id')
    .orderBy('c.position')
    .orderBy('c.id')
    .execute();
  const attachedTo = await loadAttached(db);
  return rows.map((row) => ({
    id: row.id,
    projectId: row.project_id,
    slug: row.slug,
    pluginName: row.name,
    settings: JSON.parse(row.settings) as SettingValues,
    attached: attachedTo.get(row.id) ?? new Set(),
    updatedAt: row.updated_at,
    version: JSON.stringify([row.slug, row.version, row.updated_at, row.settings]),
    error: row.error,
  }));
}

async function loadAttached(db: Queries): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
  const rows = await db
    .selectFrom('plugin_attachments as a')
    .innerJoin('plugin_configs as c', 'c.id', 'a.config_id')
    .select(['a.config_id', 'a.key'])
    .where('c.family', '=', 'transformation')
    .where('c.enabled', '=', 1)
    .execute();
  const attachedTo = new Map<number, Set<string>>();
  for (const { config_id, key } of rows) {
    attachedTo.set(config_id, (attachedTo.get(config_id) ?? new Set()).add(key));
  }
  return attachedTo;
}
