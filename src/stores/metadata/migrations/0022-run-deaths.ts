import type { Queries } from '../queries.ts';
import type { ColumnTypes, Migration } from './migration.ts';

/** How often the process that worked on a run of an import ended without getting further with it. */
export const runDeaths: Migration = {
  version: 22,
  name: 'deaths of import runs',
  up: addDeaths,
};

async function addDeaths({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema.alterTable('import_runs').addColumn('deaths', text).execute();
}
