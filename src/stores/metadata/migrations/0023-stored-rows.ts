import type { Queries } from '../queries.ts';
import type { Migration } from './migration.ts';

/** Whether the event of a dead letter has its row in the event store: a replay then concerns persons and groups alone. */
export const storedRows: Migration = {
  version: 23,
  name: 'dead letters of events that have their rows',
  up: addRowsStored,
};

async function addRowsStored({ schema }: Queries): Promise<void> {
  const rows = schema.alterTable('dead_letters');
  await rows.addColumn('rows_stored', 'integer', (column) => column.notNull().defaultTo(0)).execute();
}
