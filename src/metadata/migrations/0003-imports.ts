import type { ColumnDefinitionBuilder } from 'kysely';
import type { Queries } from '../queries.ts';
import type { ColumnTypes, Migration } from './migration.ts';

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();
const key = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.primaryKey().notNull();

/**
 * Import runs, their parts and days. No foreign keys: a run outlives its config, and the command line keeps runs that
 * belong to no project. Deleting a project removes the rows by query.
 */
export const imports: Migration = {
  version: 3,
  name: 'imports',
  up: async (db, types) => {
    await createRuns(db, types);
    await createParts(db, types);
    await createDays(db, types);
  },
};

async function createRuns({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('import_runs')
    .addColumn('id', text, key)
    .addColumn('project_id', 'integer', required)
    .addColumn('config_id', 'integer', required)
    .addColumn('source', text, required)
    .addColumn('state', text, required)
    .addColumn('stage', text, required)
    .addColumn('reason', text, required)
    .addColumn('waiting', text)
    .addColumn('options', text, required)
    .addColumn('secrets', text, required)
    .addColumn('progress', text, required)
    .addColumn('totals', text, required)
    .addColumn('promoted_from', text)
    .addColumn('attempts', 'integer', required)
    .addColumn('retries', 'integer', required)
    .addColumn('lease_until', text)
    .addColumn('staging_removed_at', text)
    .addColumn('created_at', text, required)
    .addColumn('started_at', text)
    .addColumn('finished_at', text)
    .execute();
  await schema.createIndex('import_runs_by_state').on('import_runs').columns(['state', 'id']).execute();
  const listed = ['project_id', 'id', 'config_id', 'state'];
  await schema.createIndex('import_runs_by_project').on('import_runs').columns(listed).execute();
}

async function createParts({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('import_parts')
    .addColumn('run_id', text, required)
    .addColumn('project_id', 'integer', required)
    .addColumn('seq', 'integer', required)
    .addColumn('key', text, required)
    .addColumn('bytes', 'bigint')
    .addColumn('identity', text)
    .addColumn('stable', 'integer', required)
    .addColumn('detail', text)
    .addColumn('segments', text, required)
    .addColumn('complete', 'integer', required)
    .addColumn('faults', 'bigint', required)
    .addColumn('checked', 'integer', required)
    .addColumn('check_state', text, required)
    .addColumn('error', text, required)
    .addPrimaryKeyConstraint('import_parts_pk', ['run_id', 'seq'])
    .addUniqueConstraint('import_parts_by_key', ['run_id', 'key'])
    .execute();
  await schema.createIndex('import_parts_by_project').on('import_parts').column('project_id').execute();
}

async function createDays({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('import_days')
    .addColumn('run_id', text, required)
    .addColumn('project_id', 'integer', required)
    .addColumn('day', text, required)
    .addColumn('events', 'bigint', required)
    .addColumn('bytes', 'bigint', required)
    .addColumn('duplicates', 'bigint', required)
    .addColumn('frames', 'integer', required)
    .addColumn('frames_loaded', 'integer', required)
    .addColumn('accepted', 'bigint', required)
    .addColumn('rejected', 'bigint', required)
    .addColumn('verified', 'integer', required)
    .addColumn('expected', text, required)
    .addPrimaryKeyConstraint('import_days_pk', ['run_id', 'day'])
    .execute();
  await schema.createIndex('import_days_by_project').on('import_days').column('project_id').execute();
}
