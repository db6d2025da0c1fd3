import { sql } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import type { Capabilities } from '../../wire/contract/plugins.ts';
import { bumpConfigRevision } from '../../stores/metadata/config-revision.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { fieldsOf } from '../../imports/run/run-settings.ts';
import type { Plugin } from '../plugin.ts';

/**
 * Brings the plugins table up to date with the built-in plugins. Ids are stable: a row is found by its slug, created once and
 * then updated. Safe when several processes start at the same time. `now` is in ms.
 */
export async function syncPlugins(db: Metadata, plugins: readonly Plugin[], now: number): Promise<void> {
  const time = isoMicros(now);
  await db.transaction().execute(async (tx) => {
    // Records of configs show their plugins, so the revision changes; it is locked first, as in every change of configuration.
    await bumpConfigRevision(tx);
    await makeRoom(tx, plugins);
    for (const plugin of plugins) {
      const columns = columnsOf(plugin);
      await tx
        .insertInto('plugins')
        .values({ slug: plugin.slug, ...columns, organization_id: null, created_at: time, updated_at: time })
        .onConflict((conflict) => conflict.column('slug').doUpdateSet({ ...columns, updated_at: time }))
        .execute();
    }
  });
}

/** Renames installed plugins whose slug is now used by a built-in plugin. */
async function makeRoom(tx: Metadata, plugins: readonly Plugin[]): Promise<void> {
  const slugs = plugins.map(({ slug }) => slug);
  if (slugs.length === 0) return;
  await tx
    .updateTable('plugins')
    .set((eb) => ({ slug: sql<string>`${eb.ref('slug')} || '-' || cast(${eb.ref('id')} as text)` }))
    .where('slug', 'in', slugs)
    .where('organization_id', 'is not', null)
    .execute();
}

export function capabilitiesOf(plugin: Plugin): Capabilities {
  if (plugin.kind === 'transformation') return { methods: ['processEvent'], scheduled_tasks: [], jobs: [] };
  return { methods: ['importEvents'], scheduled_tasks: [], jobs: Object.keys(plugin.jobs) };
}

function columnsOf(plugin: Plugin) {
  return {
    kind: plugin.kind,
    name: plugin.name,
    description: plugin.description,
    version: plugin.version,
    url: null,
    config_schema: JSON.stringify(fieldsOf(plugin)),
    capabilities: JSON.stringify(capabilitiesOf(plugin)),
    public_jobs: JSON.stringify(publicJobsOf(plugin)),
  };
}

function publicJobsOf(plugin: Plugin): Record<string, { description: string }> {
  if (plugin.kind === 'transformation') return { restart: { description: 'Restarts the transformation.' } };
  return Object.fromEntries(Object.entries(plugin.jobs).map(([type, { description }]) => [type, { description }]));
}
