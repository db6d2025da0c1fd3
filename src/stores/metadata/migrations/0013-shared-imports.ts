import type { Queries } from '../queries.ts';
import { key, required, type ColumnTypes, type Migration } from './migration.ts';

/** What several processes of the role `jobs` share: leases by name, and uploaded files that lie in staging. */
export const sharedImports: Migration = {
  version: 13,
  name: 'shared imports',
  up: async (db, types) => {
    await createLeases(db, types);
    await createUploads(db, types);
  },
};

async function createLeases({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('named_leases')
    .addColumn('name', text, key)
    .addColumn('owner', text, required)
    .addColumn('lease_until', text, required)
    .execute();
}

async function createUploads({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('import_uploads')
    .addColumn('project_id', 'integer', required)
    .addColumn('name', text, required)
    .addColumn('upload_id', text, required)
    .addColumn('bytes', 'bigint', required)
    .addColumn('changed_at', text, required)
    .addPrimaryKeyConstraint('import_uploads_pk', ['project_id', 'name'])
    .execute();
  await schema
    .createTable('import_upload_pieces')
    .addColumn('upload_id', text, required)
    .addColumn('project_id', 'integer', required)
    .addColumn('start', 'bigint', required)
    .addColumn('bytes', 'bigint', required)
    .addColumn('staging_key', text, required)
    .addPrimaryKeyConstraint('import_upload_pieces_pk', ['upload_id', 'start'])
    .execute();
}
