import type { Queries } from '../queries.ts';
import { required, type ColumnTypes, type Migration } from './migration.ts';

/** Persons and groups that are to be made anew from the stored events, for whoever took events out of the store. */
export const profileRebuilds: Migration = {
  version: 7,
  name: 'profile rebuilds',
  up: async (db, types) => {
    await createRebuilds(db, types);
    await createKeys(db, types);
  },
};

async function createRebuilds({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('profile_rebuilds')
    .addColumn('id', text, (column) => column.primaryKey().notNull())
    .addColumn('project_id', 'integer', required)
    .addColumn('state', text, required)
    .addColumn('detail', text, required)
    .addColumn('counts', text, required)
    .addColumn('arrivals', text, required)
    .addColumn('error', text, required)
    .addColumn('created_at', text, required)
    .execute();
}

async function createKeys({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('profile_rebuild_keys')
    .addColumn('rebuild_id', text, required)
    .addColumn('project_id', 'integer', required)
    .addColumn('kind', text, required)
    .addColumn('key', text, required)
    .addPrimaryKeyConstraint('profile_rebuild_keys_pk', ['rebuild_id', 'kind', 'key'])
    .execute();
}
