import type { ColumnDefinitionBuilder } from 'kysely';
import type { Queries } from '../queries.ts';
import { createIndex, key, partOf, required, type ColumnTypes, type Migration } from './migration.ts';

const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);

/** Plugins that people install, in versions; what they keep, log, count and do later. */
export const plugins: Migration = {
  version: 2,
  name: 'plugins',
  up: async (db, types) => {
    await createVersions(db, types);
    await createKept(db, types);
    await createView(db, types);
    await extendJobs(db, types);
  },
};

async function createVersions({ schema }: Queries, { id, generated, text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('plugin_versions')
    .addColumn('id', id, generated)
    .addColumn('plugin_id', 'integer', partOf('plugins.id'))
    .addColumn('version', text, required)
    .addColumn('source_kind', text, required)
    .addColumn('source_url', text)
    .addColumn('files', text, required)
    .addColumn('code', text, required)
    .addColumn('frontend', text)
    .addColumn('config_schema', text, required)
    .addColumn('capabilities', text, required)
    .addColumn('public_jobs', text, required)
    .addColumn('metrics', text, required)
    .addColumn('sha256', text, required)
    .addColumn('created_at', text, required)
    .addColumn('created_by', 'integer')
    .execute();
  await createIndex(schema, 'plugin_versions', 'plugin_versions_by_plugin', ['plugin_id', 'id']);
  await schema.alterTable('plugins').addColumn('latest_version_id', 'integer').execute();
  await schema.alterTable('plugin_configs').addColumn('plugin_version_id', 'integer').execute();
}

/** No foreign keys here and below: what a pipeline writes about a config that was just deleted must not stop its events. */
async function createKept({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('plugin_storage')
    .addColumn('config_id', 'integer', required)
    .addColumn('project_id', 'integer', required)
    .addColumn('key', text, required)
    .addColumn('value', text, required)
    .addPrimaryKeyConstraint('plugin_storage_pk', ['config_id', 'key'])
    .execute();
}

async function createView({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('plugin_logs')
    .addColumn('id', text, key)
    .addColumn('project_id', 'integer', required)
    .addColumn('config_id', 'integer', required)
    .addColumn('created_at', text, required)
    .addColumn('level', text, required)
    .addColumn('source', text, required)
    .addColumn('message', text, required)
    .addColumn('instance_id', text, required)
    .execute();
  await createIndex(schema, 'plugin_logs', 'plugin_logs_by_config', ['config_id', 'id']);
  await schema
    .createTable('plugin_errors')
    .addColumn('config_id', 'integer', required)
    .addColumn('project_id', 'integer', required)
    .addColumn('fingerprint', text, required)
    .addColumn('method', text, required)
    .addColumn('name', text, required)
    .addColumn('message', text, required)
    .addColumn('stack', text, required)
    .addColumn('count', 'bigint', required)
    .addColumn('first_seen', text, required)
    .addColumn('last_seen', text, required)
    .addColumn('samples', text, required)
    .addPrimaryKeyConstraint('plugin_errors_pk', ['config_id', 'fingerprint'])
    .execute();
  await schema.alterTable('plugin_metrics').addColumn('skipped', 'bigint', zero).execute();
  await schema.alterTable('plugin_metrics').addColumn('micros', 'bigint', zero).execute();
  await schema
    .createTable('plugin_own_metrics')
    .addColumn('config_id', 'integer', required)
    .addColumn('project_id', 'integer', required)
    .addColumn('hour', text, required)
    .addColumn('name', text, required)
    .addColumn('kind', text, required)
    .addColumn('value', 'double precision', required)
    .addPrimaryKeyConstraint('plugin_own_metrics_pk', ['config_id', 'hour', 'name'])
    .execute();
  for (const table of ['plugin_storage', 'plugin_logs', 'plugin_errors', 'plugin_own_metrics']) {
    await createIndex(schema, table, `${table}_by_project`, ['project_id']);
  }
}

async function extendJobs({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema.alterTable('jobs').addColumn('attempts_max', 'integer').execute();
  await schema.alterTable('jobs').addColumn('unique_key', text).execute();
  await schema
    .alterTable('jobs')
    .addColumn('kind', text, (column) => column.notNull().defaultTo('started'))
    .execute();
  await schema.alterTable('jobs').addColumn('since', text).execute();
  await schema.createIndex('jobs_by_unique_key').on('jobs').column('unique_key').unique().execute();
  // Payloads are large: what is asked every second is answered from these alone, without touching a row.
  await schema.dropIndex('jobs_by_state').execute();
  const due = ['state', 'run_at', 'id', 'config_id', 'kind', 'attempts', 'lease_until'];
  await createIndex(schema, 'jobs', 'jobs_due', due);
  await createIndex(schema, 'jobs', 'jobs_by_kind', ['kind', 'state', 'attempts', 'config_id']);
  const listed = ['project_id', 'id', 'config_id', 'state', 'kind'];
  await createIndex(schema, 'jobs', 'jobs_by_project', listed);
}
