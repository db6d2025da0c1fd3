import { createIndex, required, type Migration } from './migration.ts';

/** Import apps that run by themselves, each over what is new since the run before. */
export const importSchedules: Migration = {
  version: 18,
  name: 'import schedules',
  up: async ({ schema }, { text }) => {
    await schema
      .createTable('import_schedules')
      .addColumn('config_id', 'integer', (column) =>
        column.primaryKey().notNull().references('plugin_configs.id').onDelete('cascade'),
      )
      .addColumn('project_id', 'integer', required)
      .addColumn('timing', text, required)
      .addColumn('overlap_minutes', 'integer', required)
      .addColumn('paused', 'integer', required)
      .addColumn('begins_at', text, required)
      .addColumn('covered_to', text, required)
      .addColumn('due_at', text, required)
      .addColumn('run_id', text)
      .addColumn('run_to', text)
      .addColumn('error', text, required)
      .addColumn('created_at', text, required)
      .addColumn('updated_at', text, required)
      .execute();
    await createIndex(schema, 'import_schedules', 'import_schedules_by_project', ['project_id']);
  },
};
