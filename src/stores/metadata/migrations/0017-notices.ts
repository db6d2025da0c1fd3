import type { ColumnDefinitionBuilder } from 'kysely';
import type { Queries } from '../queries.ts';
import { createIndex, key, partOf, required, type ColumnTypes, type Migration } from './migration.ts';

/** Where notices go, those on their way, and what lasts and was told. */
export const notices: Migration = {
  version: 17,
  name: 'notices',
  up: async (db, types) => {
    await createDestinations(db, types);
    await createOutbox(db, types);
    await createConditions(db, types);
  },
};

/** Null: of the service as a whole. */
const ofProject = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder =>
  column.references('projects.id').onDelete('cascade');

async function createDestinations({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('notice_destinations')
    .addColumn('id', text, key)
    .addColumn('organization_id', text, partOf('organizations.id'))
    .addColumn('project_id', 'integer', ofProject)
    .addColumn('name', text, required)
    .addColumn('kind', text, required)
    .addColumn('address', text, required)
    .addColumn('events', text, required)
    .addColumn('enabled', 'integer', required)
    .addColumn('created_at', text, required)
    .addColumn('updated_at', text, required)
    .execute();
  await createIndex(schema, 'notice_destinations', 'notice_destinations_by_project', ['project_id']);
}

async function createOutbox({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('notices')
    .addColumn('id', text, key)
    .addColumn('destination_id', text, partOf('notice_destinations.id'))
    .addColumn('state', text, required)
    .addColumn('notice', text, required)
    .addColumn('attempts', 'integer', required)
    .addColumn('attempts_max', 'integer', required)
    .addColumn('run_at', text, required)
    .addColumn('lease_until', text)
    .addColumn('error', text, required)
    .addColumn('created_at', text, required)
    .addColumn('finished_at', text)
    .execute();
  await createIndex(schema, 'notices', 'notices_due', ['state', 'run_at']);
  await createIndex(schema, 'notices', 'notices_by_destination', ['destination_id', 'id']);
}

async function createConditions({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('notice_conditions')
    .addColumn('subject', text, key)
    .addColumn('project_id', 'integer', ofProject)
    .addColumn('standing', text, required)
    .addColumn('seen_at', text, required)
    .addColumn('told_at', text)
    .addColumn('clear_since', text)
    .execute();
}
