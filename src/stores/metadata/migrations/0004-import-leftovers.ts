import type { Queries } from '../queries.ts';
import { key, required, type ColumnTypes, type Migration } from './migration.ts';

/** Runs whose rows went with their project, and whose files in staging are still to be removed. */
export const importLeftovers: Migration = {
  version: 4,
  name: 'import leftovers',
  up: createLeftovers,
};

async function createLeftovers({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('import_leftovers')
    .addColumn('run_id', text, key)
    .addColumn('created_at', text, required)
    .execute();
}
