import type { Insertable } from 'kysely';
import type { Database, Metadata } from '../../src/stores/metadata/database.ts';
import { createOrganization } from '../../src/stores/metadata/organizations.ts';
import { createUser } from '../../src/stores/metadata/users.ts';

/** The present of the tests, ms since the epoch. */
export const now = Date.UTC(2026, 10, 20, 10);

/** Rows that the store's tests share. */
const time = '2026-11-20T10:00:00.000000Z';

export const organizationRow: Database['organizations'] = { id: 'o1', name: 'One', created_at: time };

export const samplePlugin: Insertable<Database['plugins']> = {
  organization_id: null,
  slug: 'sample',
  kind: 'transformation',
  name: 'Sample',
  description: '',
  version: '1.0.0',
  url: null,
  config_schema: '[]',
  capabilities: '{}',
  public_jobs: '{}',
  created_at: time,
  updated_at: time,
};

export function sampleConfig(projectId: number, pluginId: number): Insertable<Database['plugin_configs']> {
  return {
    project_id: projectId,
    plugin_id: pluginId,
    family: 'transformation',
    enabled: 1,
    position: 0,
    name: '',
    description: '',
    deleted: 0,
    settings: '{}',
    error: '',
    created_at: time,
    updated_at: time,
  };
}

export interface Account {
  readonly organizationId: string;
  readonly userId: number;
}

/** An organisation with one user. */
export async function createAccount(db: Metadata): Promise<Account> {
  const organization = await createOrganization(db, { name: 'Acme' }, now);
  const user = await createUser(
    db,
    { organizationId: organization.id, firstName: 'Ann', email: 'ann@acme.test', role: 'admin' },
    now,
  );
  return { organizationId: organization.id, userId: user.id };
}
