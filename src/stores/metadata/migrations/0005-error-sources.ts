import type { Queries } from '../queries.ts';
import type { ColumnTypes, Migration } from './migration.ts';

/** Whose an error of a config is: only who wrote it may take it back. Until now the beginning of its text told. */
export const errorSources: Migration = {
  version: 5,
  name: 'error sources',
  up: addSources,
};

const workOfPlugin = /^(job ".*?"|runEvery\w+|onEvent|exportEvents|setup) failed: /s;

async function addSources(db: Queries, { text }: ColumnTypes): Promise<void> {
  await db.schema
    .alterTable('plugin_configs')
    .addColumn('error_source', text, (column) => column.notNull().defaultTo('chain'))
    .execute();
  const rows = await db.selectFrom('plugin_configs').select(['id', 'error']).where('error', '<>', '').execute();
  for (const { id, error } of rows) {
    const source = workOfPlugin.exec(error)?.[1];
    if (source === undefined) continue;
    await db.updateTable('plugin_configs').set({ error_source: source }).where('id', '=', id).execute();
  }
}
