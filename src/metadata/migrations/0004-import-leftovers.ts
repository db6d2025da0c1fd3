import type { Queries } from '../queries.ts';
import type { ColumnTypes, Migration } from './migration.ts';

/** Runs whose rows went with their project, and whose files in staging are still to be removed. */
export const importLeftovers: Migration = {
  version: 4,
  name: 'import leftovers',
  up: createLeftovers,
};

async function createLeftovers({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('import_leftovers')
    .addColumn('run_id', text, (column) => column.primaryKey().notNull())
    .addColumn('created_at', text, (column) => column.notNull())
    .execute();
}
