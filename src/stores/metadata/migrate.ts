import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { usableFrom, type MigrationStep } from '../../base/migration-step.ts';
import { tables, type Dialect, type Metadata } from './database.ts';
import type { Queries } from './queries.ts';
import { listReports } from './service-processes.ts';
import { createTables } from './tables/create-tables.ts';

/** Never changed once it has landed, and never reverted. The declarations in tables/ already contain its changes. */
export interface Migration extends MigrationStep {
  /** Runs inside a transaction. */
  readonly up: (db: Queries, dialect: Dialect) => Promise<void>;
}

/** Stores of this version or later are migrated. Earlier ones only existed before the first release. */
const oldestVersion = 23;
/** The last commit that migrates stores of earlier versions. */
const lastCommitWithEarlier = '2612ee5';

/** Migrations after `oldestVersion`, in order, without gaps. */
export const migrations: readonly Migration[] = [
  { name: 'oidc', since: '0.1.0', kind: 'expand', up: addOidc },
  { name: 'tasks', since: '0.1.0', kind: 'expand', up: addTasks },
  { name: 'retention policies', since: '0.1.0', kind: 'expand', up: addRetentionPolicies },
  { name: 'tracking plans', since: '0.1.0', kind: 'expand', up: addTrackingPlans },
  { name: 'signing keys', since: '0.1.0', kind: 'expand', up: addSigningKeys },
  { name: 'kept out ids', since: '0.1.0', kind: 'expand', up: addKeptOutIds },
  { name: 'scopes of sessions', since: '0.1.0', kind: 'expand', up: addSessionScopes },
  { name: 'limits of projects', since: '0.1.0', kind: 'expand', up: addProjectLimits },
  { name: 'log marks', since: '0.1.0', kind: 'expand', up: addLogMarks },
  { name: 'usable from', since: '0.1.0', kind: 'expand', up: addUsableFrom },
];

/** The schema version that this program needs. */
export const schemaVersion = oldestVersion + migrations.length;

/** Rows of `schema_version` have their `usable_from` from this version on. */
const firstWithUsableFrom = oldestVersion + 1 + migrations.findIndex(({ name }) => name === 'usable from');

/** Any constant works that nothing else in the database uses as an advisory lock. */
const advisoryLockKey = 778_120_531;

/** The store has a schema that this program can neither use nor migrate. */
export class SchemaVersionError extends Error {
  override name = 'SchemaVersionError';
}

/** What a store records about its schema. */
interface StoredSchema {
  /** 0 if the store is empty. */
  readonly version: number;
  /** Programs of this schema version or later can use the store. */
  readonly usableFrom: number;
}

/**
 * Creates the tables in an empty store, or brings the store to this program's schema version; a store that a newer program has
 * expanded stays as it is. Each migration is one transaction; processes that start at the same time wait for each other, and running
 * ones continue. Returns the version of the store. `program` has the migrations of the program.
 *
 * @throws SchemaVersionError, having changed nothing
 */
export async function migrate(db: Metadata, dialect: Dialect, program = migrations): Promise<number> {
  const ownVersion = oldestVersion + program.length;
  const found = await db.transaction().execute(async (tx) => {
    const schema = await lockSchema(tx, dialect);
    if (schema.version > 0) return schema;
    await createTables(tx, dialect, tables);
    await insertFirstRows(tx);
    return await recordVersion(tx, { ...schemaOf(program, schemaVersion), name: 'baseline' });
  });
  checkSchema(found, ownVersion);
  for (const [index, migration] of program.entries()) {
    const schema = schemaOf(program, oldestVersion + index + 1);
    if (schema.version > found.version) await applyMigration(db, dialect, { ...migration, ...schema });
  }
  return Math.max(found.version, ownVersion);
}

function schemaOf(program: readonly Migration[], version: number): StoredSchema {
  return { version, usableFrom: usableFrom(program, oldestVersion, version) };
}

/** @throws SchemaVersionError while a process runs that the migration would break */
async function applyMigration(db: Metadata, dialect: Dialect, migration: Migration & StoredSchema): Promise<void> {
  await withoutBlocking(dialect, () =>
    db.transaction().execute(async (tx) => {
      if ((await lockSchema(tx, dialect)).version >= migration.version) return;
      if (migration.kind !== 'expand') await checkRunning(tx, migration);
      // Others queue behind a statement that waits for a table, so it must not wait long for a long transaction.
      if (dialect === 'postgres') await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx);
      await migration.up(tx, dialect);
      await recordVersion(tx, migration);
    }),
  );
}

/** How long a migration waits for a table, which blocks all other users of the table, before it makes room for them and tries again. */
const lockTimeoutMs = 1000;
const retryMs = 2000;
const triesMax = 60;
/** PostgreSQL's error for a lock that was not obtained in time. */
const lockNotAvailable = '55P03';

async function withoutBlocking(dialect: Dialect, change: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await change();
    } catch (error) {
      const isWaiting = dialect === 'postgres' && (error as { readonly code?: unknown }).code === lockNotAvailable;
      if (!isWaiting || tries === triesMax) throw error;
      await setTimeout(retryMs);
    }
  }
}

/** Without a report for so long, a process has ended. */
const silentMsMax = 10_000;

/** @throws SchemaVersionError if a process runs that could not use the schema */
async function checkRunning(tx: Metadata, { version, usableFrom: needed }: StoredSchema): Promise<void> {
  for (const { report, seenMsAgo } of await listReports(tx)) {
    const { name, version: program, schema = 0 } = (JSON.parse(report) as RunningReport).report;
    if (seenMsAgo > silentMsMax || schema >= needed) continue;
    throw new SchemaVersionError(
      `expected all running processes to support metadata schema ${needed} or newer, got ${name} (Millrace ${program}), which does ` +
        `not: schema ${version} removes what it uses; first upgrade every process to the release before this one`,
    );
  }
}

/** The part of a process's report that is read here; reports without a schema are older. */
interface RunningReport {
  readonly report: { readonly name: string; readonly version: string; readonly schema?: number };
}

/** @throws SchemaVersionError */
function checkSchema({ version, usableFrom: needed }: StoredSchema, ownVersion = schemaVersion): void {
  if (version > ownVersion && needed > ownVersion) {
    throw new SchemaVersionError(
      `expected a metadata schema of version ${ownVersion} or older, got version ${version}: the store was written by a ` +
        `newer Millrace, and only programs of schema ${needed} or newer can use it; start that version or a later one, or restore the ` +
        'backup made before the upgrade',
    );
  }
  if (version < oldestVersion) {
    throw new SchemaVersionError(
      `expected a metadata schema of version ${oldestVersion} or newer, got version ${version}: this version of Millrace no longer ` +
        `migrates it; check out commit ${lastCommitWithEarlier}, which does, start and stop it on this store once, then start this ` +
        'version again',
    );
  }
}

/** Returns "schema 4 of 4", or `undefined` if there are no tables. @throws SchemaVersionError for a version that `migrate` refuses */
export async function describeSchema(db: Metadata): Promise<string | undefined> {
  const tables = await db.introspection.getTables();
  if (!tables.some(({ name }) => name === 'schema_version')) return undefined;
  const found = await readSchema(db);
  if (found.version > 0) checkSchema(found);
  return `schema ${found.version} of ${schemaVersion}`;
}

/** Returns the schema, and prevents other migrations until the transaction ends. */
async function lockSchema(tx: Queries, dialect: Dialect): Promise<StoredSchema> {
  // SQLite's transactions hold the write lock from their start.
  if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(${advisoryLockKey})`.execute(tx);
  await sql`create table if not exists schema_version (
    version integer primary key, name text not null, applied_at text not null, usable_from integer)`.execute(tx);
  return await readSchema(tx);
}

async function readSchema(db: Queries): Promise<StoredSchema> {
  // All columns: stores of earlier versions have no usable_from.
  const query = sql<{ version: number; usable_from?: number | null }>`select * from schema_version
    order by version desc limit 1`;
  const row = (await query.execute(db)).rows[0];
  return { version: row?.version ?? 0, usableFrom: row?.usable_from ?? row?.version ?? 0 };
}

async function recordVersion(tx: Queries, schema: StoredSchema & { readonly name: string }): Promise<StoredSchema> {
  const row = { version: schema.version, name: schema.name, applied_at: isoMicros(Date.now()) };
  const columns = schema.version < firstWithUsableFrom ? row : { ...row, usable_from: schema.usableFrom };
  const [names, values] = [Object.keys(columns).map((name) => sql.ref(name)), Object.values(columns)];
  await sql`insert into schema_version (${sql.join(names)}) values (${sql.join(values)})`.execute(tx);
  return schema;
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

/** So that programs that are older than the schema can tell whether they can use it. */
async function addUsableFrom({ schema }: Queries): Promise<void> {
  await schema.alterTable('schema_version').addColumn('usable_from', 'integer').execute();
}
