import { isoMicros } from '../base/clock.ts';
import type { Capabilities } from '../contract/plugins.ts';
import type { Metadata } from '../metadata/database.ts';
import type { Plugin } from './plugin.ts';

/**
 * Makes the plugins table know what this program brings. Ids are stable: a row is found by its slug, made once and then
 * kept up to date. Safe when several processes start at once. `now` in ms.
 */
export async function syncPlugins(db: Metadata, plugins: readonly Plugin[], now: number): Promise<void> {
  const time = isoMicros(now);
  await db.transaction().execute(async (tx) => {
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
    config_schema: JSON.stringify(plugin.fields),
    capabilities: JSON.stringify(capabilitiesOf(plugin)),
    public_jobs: JSON.stringify(publicJobsOf(plugin)),
  };
}

function publicJobsOf(plugin: Plugin): Record<string, { description: string }> {
  if (plugin.kind === 'transformation') return { restart: { description: 'Starts the transformation anew.' } };
  return Object.fromEntries(Object.entries(plugin.jobs).map(([type, { description }]) => [type, { description }]));
}
