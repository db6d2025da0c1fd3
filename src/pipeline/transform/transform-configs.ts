import type { Capabilities } from '../../wire/contract/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { PluginField, SettingValues } from '../../plugins/fields.ts';
import { chainSource } from '../../plugins/configs/set-config-error.ts';

/** An enabled config as the chain needs it. */
export interface TransformConfig {
  readonly id: number;
  readonly projectId: number;
  /** The most slots that the project was ever spread over. */
  readonly spread: number;
  readonly slug: string;
  readonly pluginId: number;
  readonly pluginName: string;
  /** Of an installed plugin: what it runs. Null: built in. */
  readonly pluginVersionId: number | null;
  readonly fields: readonly PluginField[];
  readonly capabilities: Capabilities;
  readonly settings: SettingValues;
  /** Keys of the files that it has. */
  readonly attached: ReadonlySet<string>;
  /** Takes part in the chain; otherwise it only looks on (onEvent, exportEvents). */
  readonly isStep: boolean;
  /** Changes with every change of what matters here. */
  readonly version: string;
  readonly updatedAt: string;
  /** On record; empty: all is well. */
  readonly error: string;
  /** Whether the chain has put it there; otherwise another work of the plugin has, and takes it back. */
  readonly isErrorOfChain: boolean;
}

/** Methods by which a plugin is told of processed events. */
export const observing = ['onEvent', 'exportEvents'] as const;

/** How the events name a config that ran. */
export function labelOf({ id, pluginName }: Pick<TransformConfig, 'id' | 'pluginName'>): string {
  return `${pluginName} (${id})`;
}

/**
 * Enabled configs of every project, not in the bin, that change events or look on: the first in the order in which they run.
 */
export async function loadTransformConfigs(db: Queries): Promise<TransformConfig[]> {
  const rows = await selectEnabled(db).execute();
  const attachedTo = await loadAttached(db);
  return rows.flatMap((row) => {
    const capabilities = JSON.parse(row.capabilities) as Capabilities;
    const isStep =
      row.family === 'transformation' &&
      (row.plugin_version_id === null || capabilities.methods.some((method) => method.startsWith('processEvent')));
    if (!isStep && !observing.some((method) => capabilities.methods.includes(method))) return [];
    return [
      {
        id: row.id,
        projectId: row.project_id,
        spread: row.spread_max,
        slug: row.slug,
        pluginId: row.plugin_id,
        pluginName: row.name,
        pluginVersionId: row.plugin_version_id,
        fields: JSON.parse(row.config_schema) as PluginField[],
        capabilities,
        settings: JSON.parse(row.settings) as SettingValues,
        attached: attachedTo.get(row.id) ?? new Set<string>(),
        isStep,
        updatedAt: row.updated_at,
        version: JSON.stringify([
          row.slug,
          row.version,
          row.plugin_version_id,
          row.updated_at,
          row.settings,
          row.spread_max > 1,
        ]),
        error: row.error,
        isErrorOfChain: row.error_source === chainSource,
      },
    ];
  });
}

function selectEnabled(db: Queries) {
  return db
    .selectFrom('plugin_configs as c')
    .innerJoin('plugins as p', 'p.id', 'c.plugin_id')
    .innerJoin('projects as o', 'o.id', 'c.project_id')
    .leftJoin('plugin_versions as v', 'v.id', 'c.plugin_version_id')
    .select(['c.id', 'c.project_id', 'c.family', 'c.plugin_id', 'c.plugin_version_id', 'c.settings', 'c.updated_at'])
    .select(['c.error', 'c.error_source', 'p.slug', 'p.name', 'p.version', 'o.spread_max'])
    .select((eb) => [
      eb.fn.coalesce('v.config_schema', 'p.config_schema').as('config_schema'),
      eb.fn.coalesce('v.capabilities', 'p.capabilities').as('capabilities'),
    ])
    .where('c.enabled', '=', 1)
    .where('c.deleted', '=', 0)
    .orderBy('c.project_id')
    .orderBy('c.position')
    .orderBy('c.id');
}

async function loadAttached(db: Queries): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
  const rows = await db
    .selectFrom('plugin_attachments as a')
    .innerJoin('plugin_configs as c', 'c.id', 'a.config_id')
    .select(['a.config_id', 'a.key'])
    .where('c.enabled', '=', 1)
    .execute();
  const attachedTo = new Map<number, Set<string>>();
  for (const { config_id, key } of rows) {
    attachedTo.set(config_id, (attachedTo.get(config_id) ?? new Set()).add(key));
  }
  return attachedTo;
}
