import { events } from './migrations/0001-events.ts';
import { uuidFilter } from './migrations/0002-uuid-filter.ts';
import { importRun } from './migrations/0003-import-run.ts';
import { syncMerges } from './migrations/0004-sync-merges.ts';
import { singleForm, type SchemaForm } from './schema-form.ts';

export interface StoreMigration {
  readonly name: string;
  readonly statements: (form: SchemaForm) => readonly string[];
}

/** Numbered from 1, forward only, never changed once landed. Every statement may run twice, after a crash in between. */
export const migrations: readonly StoreMigration[] = [
  { name: 'events', statements: events },
  { name: 'uuid filter', statements: uuidFilter },
  { name: 'import run', statements: importRun },
  { name: 'sync merges', statements: syncMerges },
];

/** The transport's functions for migrations. */
export interface SchemaConnection {
  command(sql: string): Promise<void>;
  rows<Row>(sql: string): Promise<Row[]>;
}

/** The data was written by a newer version of the program. */
export class StoreSchemaTooNewError extends Error {
  override name = 'StoreSchemaTooNewError';
}

/**
 * Applies missing migrations; one process at a time.
 *
 * @throws StoreSchemaTooNewError, having changed nothing, when the store is newer than the program
 */
export async function migrateStore(connection: SchemaConnection, form: SchemaForm = singleForm): Promise<void> {
  const present = await checkedVersion(connection);
  // While a server of a cluster is unavailable no table can be changed; a process without changes need not wait.
  if (present === migrations.length) return;
  await connection.command(versionTable(form));
  for (const statement of form.extra) await connection.command(statement);
  for (let version = present + 1; version <= migrations.length; version++) {
    const migration = migrations[version - 1];
    if (!migration) continue;
    for (const statement of migration.statements(form)) await connection.command(statement);
    await connection.command(
      `INSERT INTO schema_version (version, name) SELECT toUInt32(${version}), '${migration.name}'`,
    );
  }
}

async function checkedVersion(connection: SchemaConnection): Promise<number> {
  const present = await presentVersion(connection);
  if (present <= migrations.length) return present;
  throw new StoreSchemaTooNewError(
    `The event store has schema version ${present}, but this program supports versions up to ${migrations.length}. ` +
      'Start the newer version of the program again, or restore a backup from before the upgrade.',
  );
}

/** Returns the version of the tables; 0 without tables. */
export async function presentVersion(connection: Pick<SchemaConnection, 'rows'>): Promise<number> {
  const [table] = await connection.rows<{ found: number | string }>(
    "SELECT count() AS found FROM system.tables WHERE database = currentDatabase() AND name = 'schema_version'",
  );
  if (Number(table?.found ?? 0) === 0) return 0;
  const [row] = await connection.rows<{ version: number }>('SELECT max(version) AS version FROM schema_version');
  return Number(row?.version ?? 0);
}

function versionTable(form: SchemaForm): string {
  return `CREATE TABLE IF NOT EXISTS schema_version${form.everywhere} (
  version UInt32,
  name String,
  applied_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ${form.wholeEngine('schema_version')}
ORDER BY version
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`;
}
