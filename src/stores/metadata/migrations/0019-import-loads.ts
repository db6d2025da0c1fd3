import type { Queries } from '../queries.ts';
import { rememberLoad } from '../import-loads.ts';
import { createIndex, key, required, type ColumnTypes, type Migration } from './migration.ts';

const runsPerPage = 500;

/** What stays known of a run that has loaded; how long runs are kept; and indexes for any number of them. */
export const importLoads: Migration = {
  version: 19,
  name: 'import loads',
  up: async (db, types) => {
    await createLoads(db, types);
    await createMarks(db, types);
    await db.schema
      .alterTable('import_runs')
      .addColumn('kept', types.text, (column) => column.notNull().defaultTo(''))
      .execute();
    await indexRuns(db);
    await indexDays(db);
    await rememberAll(db);
  },
};

async function createLoads({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('import_loads')
    .addColumn('run_id', text, key)
    .addColumn('project_id', 'integer', required)
    .addColumn('config_id', 'integer', required)
    .addColumn('source', text, required)
    .addColumn('target', text, required)
    .addColumn('place', text, required)
    .addColumn('recipe', text, required)
    .addColumn('first_day', text, required)
    .addColumn('last_day', text, required)
    .addColumn('duplicates', 'bigint', required)
    .addColumn('loaded', 'bigint')
    .addColumn('created_at', text, required)
    .addColumn('removed_at', text)
    .execute();
  await createIndex(schema, 'import_loads', 'import_loads_by_duplicates', ['project_id', 'duplicates']);
  await createIndex(schema, 'import_loads', 'import_loads_by_removal', ['project_id', 'removed_at', 'last_day']);
}

async function createMarks({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('import_load_marks')
    .addColumn('project_id', 'integer', required)
    .addColumn('mark', text, required)
    .addColumn('run_id', text, required)
    .addColumn('records', 'bigint', required)
    .addPrimaryKeyConstraint('import_load_marks_pk', ['project_id', 'mark', 'run_id'])
    .execute();
  await createIndex(schema, 'import_load_marks', 'import_load_marks_by_run', ['run_id']);
}

async function indexRuns({ schema }: Queries): Promise<void> {
  const index = (name: string, columns: string[]): Promise<void> => createIndex(schema, 'import_runs', name, columns);
  await index('import_runs_by_config', ['project_id', 'config_id', 'id']);
  await index('import_runs_by_config_state', ['project_id', 'config_id', 'state', 'id']);
  await index('import_runs_by_project_state', ['project_id', 'state', 'id', 'config_id']);
  await index('import_runs_by_promotion', ['promoted_from']);
  await index('import_runs_by_staging', ['staging_removed_at', 'finished_at', 'id']);
  await index('import_runs_by_kept', ['kept', 'finished_at', 'id']);
}

async function indexDays({ schema }: Queries): Promise<void> {
  await schema.dropIndex('import_days_by_project').execute();
  await createIndex(schema, 'import_days', 'import_days_by_project', ['project_id', 'day', 'run_id']);
}

async function rememberAll(db: Queries): Promise<void> {
  for (let after = ''; ;) {
    const rows = await db
      .selectFrom('import_runs')
      .select(['id', 'options', 'progress'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(runsPerPage)
      .execute();
    for (const { id, options, progress } of rows) {
      if ((JSON.parse(options) as { scheduled?: boolean }).scheduled === true) {
        await db.updateTable('import_runs').set({ kept: 'long' }).where('id', '=', id).execute();
      }
      if (Object.hasOwn(JSON.parse(progress) as object, 'load')) await rememberLoad(db, id);
    }
    if (rows.length < runsPerPage) return;
    after = rows.at(-1)?.id ?? '';
  }
}
