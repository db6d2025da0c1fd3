import type { Queries } from '../queries.ts';
import { createIndex, key, required, type ColumnTypes, type Migration } from './migration.ts';

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
  await createIndex(schema, 'import_runs', 'import_runs_by_state', ['state', 'id']);
  const listed = ['project_id', 'id', 'config_id', 'state'];
  await createIndex(schema, 'import_runs', 'import_runs_by_project', listed);
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
  await createIndex(schema, 'import_parts', 'import_parts_by_project', ['project_id']);
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
  await createIndex(schema, 'import_days', 'import_days_by_project', ['project_id']);
}
