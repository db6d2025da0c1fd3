import type { Queries } from '../queries.ts';
import { required, type ColumnTypes, type Migration } from './migration.ts';

/** Events that people keep to try transformations with. */
export const sampleEvents: Migration = {
  version: 11,
  name: 'sample events',
  up: createSampleEvents,
};

async function createSampleEvents({ schema }: Queries, { id, generated, text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('sample_events')
    .addColumn('id', id, generated)
    .addColumn('project_id', 'integer', required)
    .addColumn('name', text, required)
    .addColumn('event', text, required)
    .addColumn('created_by', 'integer')
    .addColumn('created_at', text, required)
    .addColumn('updated_at', text, required)
    .execute();
  const unique = schema.createIndex('sample_events_by_name').unique();
  await unique.on('sample_events').columns(['project_id', 'name']).execute();
}
