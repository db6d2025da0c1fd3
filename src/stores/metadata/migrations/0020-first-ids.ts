import { sql } from 'kysely';
import type { Queries } from '../queries.ts';
import type { ColumnTypes, Migration } from './migration.ts';

/**
 * A person names the id that it was made for, and that id stays out of the index by person. Most people have no other one, and an
 * index by uuid, which falls anywhere, was half of what a new person cost. Ids that are there stay in the index.
 */
export const firstIds: Migration = {
  version: 20,
  name: 'first ids',
  up: async (db, types) => {
    await addColumns(db, types);
    await db.schema.dropIndex('person_distinct_ids_by_person').execute();
    await db.schema
      .createIndex('person_distinct_ids_by_person')
      .on('person_distinct_ids')
      .columns(['project_id', 'person_uuid'])
      .where(sql.ref('is_first'), 'is', null)
      .execute();
  },
};

async function addColumns({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema.alterTable('persons').addColumn('first_id', text).execute();
  await schema.alterTable('person_distinct_ids').addColumn('is_first', 'integer').execute();
}
