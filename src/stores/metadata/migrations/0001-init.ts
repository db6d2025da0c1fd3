import { sql, type ColumnDefinitionBuilder } from 'kysely';
import type { Queries } from '../queries.ts';
import { createIndex, key, partOf, required, type ColumnTypes, type Migration } from './migration.ts';

/**
 * Every table of the first schema.
 *
 * Tables that the pipeline writes name their project or config without a foreign key: events may still be on their way
 * when a project is deleted, and must not stop the pipeline. Deleting a project removes their rows by query.
 */
export const init: Migration = {
  version: 1,
  name: 'init',
  async up(db, types) {
    await createAccounts(db, types);
    await createPlugins(db, types);
    await createRecords(db, types);
    await createPeople(db, types);
    await createPipelineState(db, types);
  },
};

const unique = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().unique();

async function createAccounts(db: Queries, { id, generated, text }: ColumnTypes): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('organizations')
    .addColumn('id', text, key)
    .addColumn('name', text, required)
    .addColumn('created_at', text, required)
    .execute();
  await schema
    .createTable('users')
    .addColumn('id', id, generated)
    .addColumn('uuid', text, unique)
    .addColumn('organization_id', text, partOf('organizations.id'))
    .addColumn('first_name', text, required)
    .addColumn('email', text, required)
    .addColumn('created_at', text, required)
    .execute();
  await createIndex(schema, 'users', 'users_by_organization', ['organization_id']);
  await schema
    .createTable('projects')
    .addColumn('id', id, generated)
    .addColumn('uuid', text, unique)
    .addColumn('organization_id', text, partOf('organizations.id'))
    .addColumn('name', text, required)
    .addColumn('api_token', text, unique)
    .addColumn('timezone', text, required)
    .addColumn('created_at', text, required)
    .addColumn('updated_at', text, required)
    .execute();
  await createIndex(schema, 'projects', 'projects_by_organization', ['organization_id']);
  await createCredentials(db, text);
}

async function createCredentials({ schema }: Queries, text: ColumnTypes['text']): Promise<void> {
  await schema
    .createTable('sessions')
    .addColumn('id_hash', text, key)
    .addColumn('user_id', 'integer', partOf('users.id'))
    .addColumn('key_hash', text)
    .addColumn('created_at', text, required)
    .addColumn('expires_at', text, required)
    .execute();
  await schema
    .createTable('login_links')
    .addColumn('token_hash', text, key)
    .addColumn('user_id', 'integer', partOf('users.id'))
    .addColumn('created_at', text, required)
    .addColumn('expires_at', text, required)
    .addColumn('used_at', text)
    .execute();
  await schema
    .createTable('personal_api_keys')
    .addColumn('id', text, key)
    .addColumn('user_id', 'integer', partOf('users.id'))
    .addColumn('label', text, required)
    .addColumn('secure_value', text, unique)
    .addColumn('mask_value', text, required)
    .addColumn('scopes', text, required)
    .addColumn('scoped_projects', text)
    .addColumn('expires_at', text)
    .addColumn('last_used_at', text)
    .addColumn('last_rolled_at', text)
    .addColumn('created_at', text, required)
    .execute();
  await createIndex(schema, 'personal_api_keys', 'personal_api_keys_by_user', ['user_id', 'created_at']);
}

async function createPlugins(db: Queries, { id, generated, text, blob }: ColumnTypes): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('plugins')
    .addColumn('id', id, generated)
    .addColumn('organization_id', text, (column) => column.references('organizations.id').onDelete('cascade'))
    .addColumn('slug', text, unique)
    .addColumn('kind', text, required)
    .addColumn('name', text, required)
    .addColumn('description', text, required)
    .addColumn('version', text, required)
    .addColumn('url', text)
    .addColumn('config_schema', text, required)
    .addColumn('capabilities', text, required)
    .addColumn('public_jobs', text, required)
    .addColumn('created_at', text, required)
    .addColumn('updated_at', text, required)
    .execute();
  await schema
    .createTable('plugin_configs')
    .addColumn('id', id, generated)
    .addColumn('project_id', 'integer', partOf('projects.id'))
    .addColumn('plugin_id', 'integer', (column) => column.notNull().references('plugins.id'))
    .addColumn('family', text, required)
    .addColumn('enabled', 'integer', required)
    .addColumn('position', 'integer', required)
    .addColumn('name', text, required)
    .addColumn('description', text, required)
    .addColumn('deleted', 'integer', required)
    .addColumn('settings', text, required)
    .addColumn('error', text, required)
    .addColumn('created_at', text, required)
    .addColumn('updated_at', text, required)
    .execute();
  await createIndex(schema, 'plugin_configs', 'plugin_configs_by_position', ['project_id', 'family', 'position']);
  await createIndex(schema, 'plugin_configs', 'plugin_configs_by_plugin', ['plugin_id']);
  await schema
    .createTable('plugin_attachments')
    .addColumn('config_id', 'integer', partOf('plugin_configs.id'))
    .addColumn('key', text, required)
    .addColumn('file_name', text, required)
    .addColumn('content_type', text, required)
    .addColumn('size', 'bigint', required)
    .addColumn('content', blob, required)
    .addPrimaryKeyConstraint('plugin_attachments_pk', ['config_id', 'key'])
    .execute();
  await createPluginCounters(db, text);
}

async function createPluginCounters(db: Queries, text: ColumnTypes['text']): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('plugin_metrics')
    .addColumn('config_id', 'integer', required)
    .addColumn('project_id', 'integer', required)
    .addColumn('hour', text, required)
    .addColumn('succeeded', 'bigint', required)
    .addColumn('failed', 'bigint', required)
    .addColumn('dropped', 'bigint', required)
    .addPrimaryKeyConstraint('plugin_metrics_pk', ['config_id', 'hour'])
    .execute();
  await createIndex(schema, 'plugin_metrics', 'plugin_metrics_by_project', ['project_id', 'hour']);
  await schema
    .createTable('config_revisions')
    .addColumn('id', 'integer', key)
    .addColumn('revision', 'bigint', required)
    .execute();
  await db.insertInto('config_revisions').values({ id: 1, revision: 0 }).execute();
}

async function createRecords({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('activity_log')
    .addColumn('id', text, key)
    .addColumn('project_id', 'integer')
    .addColumn('organization_id', text, required)
    .addColumn('scope', text, required)
    .addColumn('item_id', text, required)
    .addColumn('activity', text, required)
    .addColumn('user_id', 'integer')
    .addColumn('key_id', text)
    .addColumn('is_system', 'integer', required)
    .addColumn('request_id', text)
    .addColumn('created_at', text, required)
    .addColumn('name', text, required)
    .addColumn('changes', text, required)
    .addColumn('snapshot', text, required)
    .execute();
  await createIndex(schema, 'activity_log', 'activity_log_by_item', ['project_id', 'scope', 'item_id', 'created_at']);
  await schema
    .createTable('idempotency_keys')
    .addColumn('key_hash', text, key)
    .addColumn('body_hash', text, required)
    .addColumn('status', 'integer', required)
    .addColumn('headers', text, required)
    .addColumn('body', text, required)
    .addColumn('created_at', text, required)
    .execute();
  await createIndex(schema, 'idempotency_keys', 'idempotency_keys_by_age', ['created_at']);
  await schema
    .createTable('jobs')
    .addColumn('id', text, key)
    .addColumn('project_id', 'integer', partOf('projects.id'))
    .addColumn('config_id', 'integer', required)
    .addColumn('type', text, required)
    .addColumn('operation', text, required)
    .addColumn('payload', text, required)
    .addColumn('state', text, required)
    .addColumn('attempts', 'integer', required)
    .addColumn('run_at', text, required)
    .addColumn('lease_until', text)
    .addColumn('error', text, required)
    .addColumn('created_at', text, required)
    .addColumn('finished_at', text)
    .execute();
  await createIndex(schema, 'jobs', 'jobs_by_state', ['state', 'run_at']);
  await createIndex(schema, 'jobs', 'jobs_by_config', ['project_id', 'config_id']);
  await createAgreements(schema, text);
}

async function createAgreements(schema: Queries['schema'], text: ColumnTypes['text']): Promise<void> {
  await schema
    .createTable('historical_migrations')
    .addColumn('id', text, key)
    .addColumn('project_id', 'integer', partOf('projects.id'))
    .addColumn('source', text, required)
    .addColumn('method', text, required)
    .addColumn('total_events', 'bigint', required)
    .addColumn('events_per_second', 'bigint', required)
    .addColumn('state', text, required)
    .addColumn('note', text, required)
    .addColumn('created_at', text, required)
    .addColumn('decided_at', text)
    .execute();
  await createIndex(schema, 'historical_migrations', 'historical_migrations_by_project', ['project_id', 'created_at']);
}

async function createPeople({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('persons')
    .addColumn('project_id', 'integer', required)
    .addColumn('uuid', text, required)
    .addColumn('created_at_micros', 'bigint', required)
    .addColumn('is_identified', 'integer', required)
    .addColumn('registers', text, required)
    .addPrimaryKeyConstraint('persons_pk', ['project_id', 'uuid'])
    .execute();
  await createIndex(schema, 'persons', 'persons_by_creation', ['project_id', 'created_at_micros']);
  await schema
    .createTable('person_distinct_ids')
    .addColumn('project_id', 'integer', required)
    .addColumn('distinct_id', text, required)
    .addColumn('person_uuid', text, required)
    .addPrimaryKeyConstraint('person_distinct_ids_pk', ['project_id', 'distinct_id'])
    .execute();
  await createIndex(schema, 'person_distinct_ids', 'person_distinct_ids_by_person', ['project_id', 'person_uuid']);
  await schema
    .createTable('group_types')
    .addColumn('project_id', 'integer', required)
    .addColumn('type_index', 'integer', required)
    .addColumn('name', text, required)
    .addPrimaryKeyConstraint('group_types_pk', ['project_id', 'type_index'])
    .addUniqueConstraint('group_types_by_name', ['project_id', 'name'])
    .execute();
  await schema
    .createTable('groups')
    .addColumn('project_id', 'integer', required)
    .addColumn('type_index', 'integer', required)
    .addColumn('group_key', text, required)
    .addColumn('created_at_micros', 'bigint', required)
    .addColumn('registers', text, required)
    .addPrimaryKeyConstraint('groups_pk', ['project_id', 'type_index', 'group_key'])
    .execute();
}

async function createPipelineState(db: Queries, { text, blob }: ColumnTypes): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('ingestion_warnings')
    .addColumn('project_id', 'integer', required)
    .addColumn('type', text, required)
    .addColumn('hour', text, required)
    .addColumn('count', 'bigint', required)
    .addColumn('last_seen', text, required)
    .addColumn('samples', text, required)
    .addPrimaryKeyConstraint('ingestion_warnings_pk', ['project_id', 'type', 'hour'])
    .execute();
  await schema
    .createTable('dead_letters')
    .addColumn('id', text, key)
    .addColumn('project_id', 'integer', required)
    .addColumn('lane', text, required)
    .addColumn('reason', text, required)
    .addColumn('detail', text, required)
    .addColumn('attr', text)
    .addColumn('event', text)
    .addColumn('distinct_id', text)
    .addColumn('event_uuid', text)
    .addColumn('original', blob, required)
    .addColumn('received_at', text, required)
    .addColumn('state', text, required)
    .addColumn('decided_at', text)
    .execute();
  await createIndex(schema, 'dead_letters', 'dead_letters_by_state', ['project_id', 'state', 'received_at']);
  await schema
    .createTable('log_cursors')
    .addColumn('lane', text, key)
    .addColumn('seq', 'bigint', required)
    .addColumn('pending', text, required)
    .execute();
  await sql`insert into log_cursors (lane, seq, pending) values ('live', 0, '[]'), ('historical', 0, '[]')`.execute(db);
}
