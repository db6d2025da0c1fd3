import { usableFrom, type MigrationStep } from '../../base/migration-step.ts';
import { events } from './migrations/0001-events.ts';
import { uuidFilter } from './migrations/0002-uuid-filter.ts';
import { importRun } from './migrations/0003-import-run.ts';
import { syncMerges } from './migrations/0004-sync-merges.ts';
import { singleForm, type SchemaForm } from './schema-form.ts';

export interface StoreMigration extends MigrationStep {
  readonly statements: (form: SchemaForm) => readonly string[];
}

/** Numbered from 1, forward only, never changed once landed. Every statement may run twice, after a crash in between. */
export const migrations: readonly StoreMigration[] = [
  { name: 'events', since: '0.1.0', kind: 'expand', statements: events },
  { name: 'uuid filter', since: '0.1.0', kind: 'expand', statements: uuidFilter },
  { name: 'import run', since: '0.1.0', kind: 'expand', statements: importRun },
  { name: 'sync merges', since: '0.1.0', kind: 'expand', statements: syncMerges },
];

/** The transport's functions for migrations. */
export interface SchemaConnection {
  command(sql: string): Promise<void>;
  rows<Row>(sql: string): Promise<Row[]>;
}

/** A newer version of the program has changed the tables so that this one cannot use them. */
export class StoreSchemaTooNewError extends Error {
  override name = 'StoreSchemaTooNewError';
}

/**
 * Applies missing migrations; one process at a time. Tables that a newer program has expanded stay as they are.
 *
 * @throws StoreSchemaTooNewError, having changed nothing, when this program cannot use the tables
 */
export async function migrateStore(connection: SchemaConnection, form: SchemaForm = singleForm): Promise<void> {
  const { version: present } = await checkedSchema(connection);
  // While a server of a cluster is unavailable no table can be changed; a process without changes need not wait.
  if (present >= migrations.length) return;
  for (const statement of [...versionTable(form), ...form.extra]) await connection.command(statement);
  for (let version = present + 1; version <= migrations.length; version++) {
    const migration = migrations[version - 1];
    if (!migration) continue;
    for (const statement of migration.statements(form)) await connection.command(statement);
    await connection.command(
      `INSERT INTO schema_version (version, name, usable_from)
SELECT toUInt32(${version}), '${migration.name}', toUInt32(${usableFrom(migrations, 0, version)})`,
    );
  }
}

async function checkedSchema(connection: SchemaConnection): Promise<PresentSchema> {
  const present = await presentSchema(connection);
  if (isUsable(present)) return present;
  throw new StoreSchemaTooNewError(
    `The event store has schema version ${present.version}, which programs of version ${present.usableFrom} or newer can use, but this ` +
      `program has version ${migrations.length}. Start the newer version of the program again, or restore a backup from before the upgrade.`,
  );
}

export interface PresentSchema {
  /** 0 without tables. */
  readonly version: number;
  /** Programs of this schema version or later can use the tables. */
  readonly usableFrom: number;
}

/** Returns whether this program can use tables of the version; missing migrations do not count. */
export function isUsable({ version, usableFrom: needed }: PresentSchema): boolean {
  return version <= migrations.length || needed <= migrations.length;
}

/** Returns the version of the tables. */
export async function presentSchema(connection: Pick<SchemaConnection, 'rows'>): Promise<PresentSchema> {
  const [table] = await connection.rows<{ found: number | string }>(
    "SELECT count() AS found FROM system.tables WHERE database = currentDatabase() AND name = 'schema_version'",
  );
  if (Number(table?.found ?? 0) === 0) return { version: 0, usableFrom: 0 };
  // All columns: tables of earlier versions have no usable_from, and rows of them have 0.
  const [row] = await connection.rows<{ version: number; usable_from?: number }>(
    'SELECT * FROM schema_version ORDER BY version DESC LIMIT 1',
  );
  const version = Number(row?.version ?? 0);
  return { version, usableFrom: Number(row?.usable_from ?? 0) || version };
}

function versionTable(form: SchemaForm): readonly string[] {
  const create = `CREATE TABLE IF NOT EXISTS schema_version${form.everywhere} (
  version UInt32,
  name String,
  applied_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ${form.wholeEngine('schema_version')}
ORDER BY version
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`;
  return [create, `ALTER TABLE schema_version${form.everywhere} ADD COLUMN IF NOT EXISTS usable_from UInt32`];
}
