import { isoMicros } from '../../base/clock.ts';
import { int32Max, type PluginConfigCreate } from '../../wire/contract/plugin-configs.ts';
import type { Family } from '../../wire/contract/plugins.ts';
import { choosePlugin } from './choose-plugin.ts';
import { insertConfig, type Work } from './save-changes.ts';
import type { StoredConfig } from './stored-config.ts';

/** Without an `order` the new config comes last; with one it gets that value and nothing is renumbered. */
export async function createConfig(work: Work, family: Family, fields: PluginConfigCreate): Promise<StoredConfig> {
  const plugin = await choosePlugin(work, family, fields.plugin);
  const deleted = fields.deleted ?? false;
  const time = isoMicros(work.now);
  return insertConfig(work, {
    projectId: work.projectId,
    family,
    plugin,
    enabled: (fields.enabled ?? false) && !deleted,
    position: fields.order ?? (await lastPosition(work, family)),
    name: fields.name ?? '',
    description: fields.description ?? '',
    deleted,
    settings: {},
    error: work.trial({ plugin, settings: {}, attachments: [] }),
    createdAt: time,
    updatedAt: time,
    attachments: [],
    delivered: 0,
    failed: 0,
  });
}

async function lastPosition({ tx, projectId }: Work, family: Family): Promise<number> {
  const row = await tx
    .selectFrom('plugin_configs')
    .select((eb) => eb.fn.max('position').as('last'))
    .where('project_id', '=', projectId)
    .where('family', '=', family)
    .where('deleted', '=', 0)
    .executeTakeFirst();
  const last: number | null | undefined = row?.last;
  return last === null || last === undefined ? 0 : Math.max(0, Math.min(int32Max, last + 1));
}
