import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDirStaging } from '../../src/imports/staging/open-staging.ts';
import type { Staging } from '../../src/imports/staging.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { createProject } from '../../src/stores/metadata/projects.ts';
import { createAccount, sampleConfig, samplePlugin } from './metadata-rows.ts';
import { tempMetadata } from './metadata.ts';
import { start } from './runs.ts';

export interface Kept {
  readonly db: Metadata;
  readonly staging: Staging;
  readonly dir: string;
  readonly project: { readonly projectId: number; readonly configId: number };
}

/** A project with a config, and a place for the files of its runs. */
export async function withStaging(work: (kept: Kept) => Promise<void>): Promise<void> {
  await using store = await tempMetadata();
  const { db } = store;
  const dir = await mkdtemp(join(tmpdir(), 'millrace-keep-'));
  try {
    const { organizationId } = await createAccount(db);
    const { id: projectId } = await createProject(db, { organizationId, name: 'Shop' }, start);
    const plugin = await db.insertInto('plugins').values(samplePlugin).returning('id').executeTakeFirstOrThrow();
    const config = sampleConfig(projectId, plugin.id);
    const { id: configId } = await db
      .insertInto('plugin_configs')
      .values(config)
      .returning('id')
      .executeTakeFirstOrThrow();
    await work({ db, staging: await openDirStaging(join(dir, 'staging')), dir, project: { projectId, configId } });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
