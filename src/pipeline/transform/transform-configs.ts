import type { Capabilities } from '../../wire/contract/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { PluginField, SettingValues } from '../../plugins/fields.ts';
import { chainSource } from '../../plugins/configs/set-config-error.ts';

/** The fields of an enabled config that chains need. */
export interface TransformConfig {
  readonly id: number;
  readonly projectId: number;
  /** The largest number of slots that the project was ever spread over. */
  readonly spread: number;
  readonly slug: string;
  readonly pluginId: number;
  readonly pluginName: string;
  /** Version of an installed plugin. Null: built in. */
  readonly pluginVersionId: number | null;
  readonly fields: readonly PluginField[];
  readonly capabilities: Capabilities;
  readonly settings: SettingValues;
  /** Keys of its files. */
  readonly attached: ReadonlySet<string>;
  /** Whether it is part of the chain; otherwise it only observes (onEvent, exportEvents). */
  readonly isStep: boolean;
  /** Changes with every relevant change. */
  readonly version: string;
  readonly updatedAt: string;
  /** The recorded error; empty: none. */
  readonly error: string;
  /** Whether the chain has recorded the error; otherwise another component has, which also clears it. */
  readonly isErrorOfChain: boolean;
}

/** Methods through which a plugin receives processed events. */
export const observing = ['onEvent', 'exportEvents'] as const;

/** Returns the name of a config in events. */
export function labelOf({ id, pluginName }: Pick<TransformConfig, 'id' | 'pluginName'>): string {
  return `${pluginName} (${id})`;
}

/** Loads the enabled, undeleted configs of every project that transform or observe events, in the order in which they run. */
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
