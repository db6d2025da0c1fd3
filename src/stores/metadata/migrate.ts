import { sql } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { tables, type Dialect, type Metadata } from './database.ts';
import type { Queries } from './queries.ts';
import { createTables } from './tables/create-tables.ts';

/** Never changed once it has landed, and never reverted. The declarations in tables/ already contain its changes. */
interface Migration {
  readonly name: string;
  /** Runs inside a transaction. */
  readonly up: (db: Queries, dialect: Dialect) => Promise<void>;
}

/** Stores of this version or later are migrated. Earlier ones only existed before the first release. */
const oldestVersion = 23;
/** The last commit that migrates stores of earlier versions. */
const lastCommitWithEarlier = '2612ee5';

/** Migrations after `oldestVersion`, in order, without gaps. */
const migrations: readonly Migration[] = [
  { name: 'oidc', up: addOidc },
  { name: 'tasks', up: addTasks },
  { name: 'retention policies', up: addRetentionPolicies },
  { name: 'tracking plans', up: addTrackingPlans },
  { name: 'signing keys', up: addSigningKeys },
  { name: 'kept out ids', up: addKeptOutIds },
  { name: 'scopes of sessions', up: addSessionScopes },
  { name: 'limits of projects', up: addProjectLimits },
  { name: 'log marks', up: addLogMarks },
];

/** The schema version that this program needs. */
export const schemaVersion = oldestVersion + migrations.length;

/** Any constant works that nothing else in the database uses as an advisory lock. */
const advisoryLockKey = 778_120_531;

/** The store has a schema that this program can neither use nor migrate. */
export class SchemaVersionError extends Error {
  override name = 'SchemaVersionError';
}

/**
 * Creates the tables in an empty store, or brings the store to this program's schema version. Each migration is one transaction;
 * processes that start at the same time wait for each other.
 *
 * @throws SchemaVersionError, having changed nothing
 */
export async function migrate(db: Metadata, dialect: Dialect): Promise<void> {
  const found = await db.transaction().execute(async (tx) => {
    const version = await lockVersion(tx, dialect);
    if (version > 0) return version;
    await createTables(tx, dialect, tables);
    await insertFirstRows(tx);
    await recordVersion(tx, schemaVersion, 'baseline');
    return schemaVersion;
  });
  checkSchemaVersion(found);
  for (const [index, { name, up }] of migrations.entries()) {
    const version = oldestVersion + index + 1;
    await db.transaction().execute(async (tx) => {
      if ((await lockVersion(tx, dialect)) >= version) return;
      await up(tx, dialect);
      await recordVersion(tx, version, name);
    });
  }
}

/** @throws SchemaVersionError for a version that `migrate` refuses */
export function checkSchemaVersion(found: number): void {
  if (found > schemaVersion) {
    throw new SchemaVersionError(
      `expected a metadata schema of version ${schemaVersion} or older, got version ${found}: the store was written by a ` +
        'newer Millrace; start that version or a later one, or restore the backup made before the upgrade',
    );
  }
  if (found < oldestVersion) {
    throw new SchemaVersionError(
      `expected a metadata schema of version ${oldestVersion} or newer, got version ${found}: this version of Millrace no longer ` +
        `migrates it; check out commit ${lastCommitWithEarlier}, which does, start and stop it on this store once, then start this ` +
        'version again',
    );
  }
}

/** Returns "schema 4 of 4", or `undefined` if there are no tables. @throws SchemaVersionError for a version that `migrate` refuses */
export async function describeSchema(db: Metadata): Promise<string | undefined> {
  const tables = await db.introspection.getTables();
  if (!tables.some(({ name }) => name === 'schema_version')) return undefined;
  const query = sql<{ version: number | null }>`select max(version) as version from schema_version`;
  const found = (await query.execute(db)).rows[0]?.version ?? 0;
  if (found > 0) checkSchemaVersion(found);
  return `schema ${found} of ${schemaVersion}`;
}

/** Returns the schema version, or 0 if the store is empty, and prevents other migrations until the transaction ends. */
async function lockVersion(tx: Queries, dialect: Dialect): Promise<number> {
  // SQLite's transactions hold the write lock from their start.
  if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(${advisoryLockKey})`.execute(tx);
  await sql`create table if not exists schema_version (
    version integer primary key, name text not null, applied_at text not null)`.execute(tx);
  const found = await sql<{ version: number | null }>`select max(version) as version from schema_version`.execute(tx);
  return found.rows[0]?.version ?? 0;
}

async function recordVersion(tx: Queries, version: number, name: string): Promise<void> {
  await sql`insert into schema_version (version, name, applied_at)
    values (${version}, ${name}, ${isoMicros(Date.now())})`.execute(tx);
}

/** A new store has one slot, with both lanes at the start of the log. */
async function insertFirstRows(tx: Queries): Promise<void> {
  await tx.insertInto('config_revisions').values({ id: 1, revision: 0 }).execute();
  await tx.insertInto('slots').values({ slot: 0, epoch: 0, lease_until: 0 }).execute();
  const start = { slot: 0, seq: 0, pending: '[]' };
  await tx
    .insertInto('log_cursors')
    .values([
      { ...start, lane: 'live' },
      { ...start, lane: 'historical' },
    ])
    .execute();
}

async function addOidc({ schema }: Queries, dialect: Dialect): Promise<void> {
  const text = dialect === 'postgres' ? sql`text collate "C"` : 'text';
  for (const column of ['oidc_issuer', 'oidc_subject']) {
    await schema.alterTable('users').addColumn(column, text).execute();
  }
  const account = schema.createIndex('users_by_oidc_account').on('users').columns(['oidc_issuer', 'oidc_subject']);
  await account.unique().execute();
  for (const column of ['oidc_issuer', 'oidc_id_token']) {
    await schema.alterTable('sessions').addColumn(column, text).execute();
  }
  await schema
    .createTable('oidc_attempts')
    .addColumn('state_hash', text, (column) => column.primaryKey().notNull())
    .addColumn('browser_hash', text, (column) => column.notNull())
    .addColumn('return_to', text, (column) => column.notNull())
    .addColumn('created_at', text, (column) => column.notNull())
    .addColumn('expires_at', text, (column) => column.notNull())
    .execute();
}

async function addTasks({ schema }: Queries, dialect: Dialect): Promise<void> {
  const text = dialect === 'postgres' ? sql`text collate "C"` : 'text';
  await schema
    .createTable('tasks')
    .addColumn('id', text, (column) => column.primaryKey().notNull())
    .addColumn('project_id', 'integer', (column) => column.notNull())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('state', text, (column) => column.notNull())
    .addColumn('spec', text, (column) => column.notNull())
    .addColumn('secrets', text, (column) => column.notNull())
    .addColumn('progress', text)
    .addColumn('result', text)
    .addColumn('error', text, (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('lease_until', text)
    .addColumn('created_by', 'integer')
    .addColumn('created_at', text, (column) => column.notNull())
    .addColumn('started_at', text)
    .addColumn('ended_at', text)
    .execute();
  const indexes = { tasks_by_state: ['kind', 'state'], tasks_by_project: ['project_id', 'kind'] };
  for (const [name, columns] of Object.entries(indexes)) {
    await schema
      .createIndex(name)
      .on('tasks')
      .columns([...columns, 'created_at'])
      .execute();
  }
}

async function addRetentionPolicies({ schema }: Queries, dialect: Dialect): Promise<void> {
  const text = dialect === 'postgres' ? sql`text collate "C"` : 'text';
  await schema
    .createTable('retention_policies')
    .addColumn('project_id', 'integer', (column) =>
      column.primaryKey().notNull().references('projects.id').onDelete('cascade'),
    )
    .addColumn('policy', text, (column) => column.notNull())
    .addColumn('updated_at', text, (column) => column.notNull())
    .addColumn('passed_at', text, (column) => column.notNull())
    .addColumn('last_pass', text)
    .execute();
}

async function addTrackingPlans({ schema }: Queries, dialect: Dialect): Promise<void> {
  const text = dialect === 'postgres' ? sql`text collate "C"` : 'text';
  await schema
    .createTable('tracking_plans')
    .addColumn('project_id', 'integer', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('plan', text)
    .addColumn('created_at', text, (column) => column.notNull())
    .addColumn('user_id', 'integer')
    .addPrimaryKeyConstraint('tracking_plans_pk', ['project_id', 'version'])
    .execute();
  await schema
    .createTable('tracking_plan_violations')
    .addColumn('project_id', 'integer', (column) => column.notNull())
    .addColumn('hour', text, (column) => column.notNull())
    .addColumn('event', text, (column) => column.notNull())
    .addColumn('property', text, (column) => column.notNull())
    .addColumn('rule', text, (column) => column.notNull())
    .addColumn('count', 'bigint', (column) => column.notNull())
    .addColumn('last_seen', text, (column) => column.notNull())
    .addColumn('samples', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('tracking_plan_violations_pk', ['project_id', 'hour', 'event', 'property', 'rule'])
    .execute();
}

async function addSigningKeys({ schema }: Queries, dialect: Dialect): Promise<void> {
  const text = dialect === 'postgres' ? sql`text collate "C"` : 'text';
  await schema
    .createTable('signing_keys')
    .addColumn('project_id', 'integer', (column) =>
      column.primaryKey().notNull().references('projects.id').onDelete('cascade'),
    )
    .addColumn('private_key', text, (column) => column.notNull())
    .addColumn('created_at', text, (column) => column.notNull())
    .execute();
}

async function addKeptOutIds({ schema }: Queries, dialect: Dialect): Promise<void> {
  const text = dialect === 'postgres' ? sql`text collate "C"` : 'text';
  await schema
    .createTable('kept_out_lists')
    .addColumn('project_id', 'integer', (column) =>
      column.primaryKey().notNull().references('projects.id').onDelete('cascade'),
    )
    .addColumn('hash_key', text, (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .execute();
  await schema
    .createTable('kept_out_ids')
    .addColumn('project_id', 'integer', (column) => column.notNull())
    .addColumn('id_hash', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('kept_out_ids_pk', ['project_id', 'id_hash'])
    .execute();
}

async function addSessionScopes({ schema }: Queries, dialect: Dialect): Promise<void> {
  const text = dialect === 'postgres' ? sql`text collate "C"` : 'text';
  for (const table of ['sessions', 'login_links']) await schema.alterTable(table).addColumn('scopes', text).execute();
}

async function addProjectLimits({ schema }: Queries, dialect: Dialect): Promise<void> {
  const text = dialect === 'postgres' ? sql`text collate "C"` : 'text';
  await schema
    .createTable('project_limits')
    .addColumn('project_id', 'integer', (column) =>
      column.primaryKey().notNull().references('projects.id').onDelete('cascade'),
    )
    .addColumn('limits', text, (column) => column.notNull())
    .addColumn('updated_at', text, (column) => column.notNull())
    .execute();
}

async function addLogMarks({ schema }: Queries, dialect: Dialect): Promise<void> {
  const text = dialect === 'postgres' ? sql`text collate "C"` : 'text';
  await schema
    .createTable('log_marks')
    .addColumn('slot', 'integer', (column) => column.notNull())
    .addColumn('lane', text, (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('stored_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('log_marks_pk', ['slot', 'lane', 'seq'])
    .execute();
}
