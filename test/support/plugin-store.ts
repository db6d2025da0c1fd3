import type { Metadata } from '../../src/stores/metadata/database.ts';
import { createOrganization } from '../../src/stores/metadata/organizations.ts';
import { createProject } from '../../src/stores/metadata/projects.ts';

export interface ServicesStore extends AsyncDisposable {
  /** Migrated and empty. */
  readonly db: Metadata;
  /** Another handle on the same store, as another process has one. May be the same where there can be only one. */
  readonly other: Metadata;
}
export type OpenStore = () => Promise<ServicesStore>;

/** Configs of a project, for what asks whether a config is still there. */
export async function addConfigs(db: Metadata, count: number): Promise<{ projectId: number; configIds: number[] }> {
  const now = Date.parse('2026-11-20T10:00:00.000Z');
  const organization = await createOrganization(db, { name: 'o' }, now);
  const { id: projectId } = await createProject(db, { organizationId: organization.id, name: 'p' }, now);
  const created_at = '2026-11-20T10:00:00.000000Z';
  const plugin = { slug: 'p', kind: 'transformation', name: 'p', description: '', version: '1', url: null };
  const texts = { config_schema: '[]', capabilities: '{}', public_jobs: '{}', created_at, updated_at: created_at };
  const { id: plugin_id } = await db
    .insertInto('plugins')
    .values({ organization_id: null, ...plugin, ...texts, latest_version_id: null })
    .returning('id')
    .executeTakeFirstOrThrow();
  const configs = Array.from({ length: count }, (_, position) => ({
    project_id: projectId,
    plugin_id,
    family: 'transformation' as const,
    enabled: 1,
    position,
    name: '',
    description: '',
    deleted: 0,
    settings: '{}',
    error: '',
    created_at,
    updated_at: created_at,
    plugin_version_id: null,
  }));
  const rows = await db.insertInto('plugin_configs').values(configs).returning('id').execute();
  return { projectId, configIds: rows.map(({ id }) => id) };
}
