import { sql } from 'kysely';
import type { Queries } from '../queries.ts';
import { required, type Migration } from './migration.ts';

/** A project that is spread over several slots: how many, since when, and a version for each person that they share. */
export const spreadProjects: Migration = {
  version: 16,
  name: 'spread projects',
  up: async (db) => {
    await addNumber(db, 'projects', 'spread', 'integer', 1);
    await addNumber(db, 'projects', 'spread_before', 'integer', 1);
    await addNumber(db, 'projects', 'spread_at', 'bigint', 0);
    await addNumber(db, 'projects', 'spread_max', 'integer', 1);
    await addNumber(db, 'persons', 'version', 'integer', 0);
  },
};

async function addNumber(
  { schema }: Queries,
  table: string,
  column: string,
  type: 'integer' | 'bigint',
  value: number,
): Promise<void> {
  await schema
    .alterTable(table)
    .addColumn(column, type, (definition) => required(definition).defaultTo(sql.lit(value)))
    .execute();
}
