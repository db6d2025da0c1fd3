import { events } from './migrations/0001-events.ts';

/** Numbered from 1, forward only, never changed once landed. Every statement may run twice: a crash may fall between two. */
export const migrations: readonly { readonly name: string; readonly statements: readonly string[] }[] = [
  { name: 'events', statements: events },
];

/** What a transport offers to bring the schema up to date. */
export interface SchemaConnection {
  command(sql: string): Promise<void>;
  rows<Row>(sql: string): Promise<Row[]>;
}

/** The data was written by a newer version of the program. */
export class StoreSchemaTooNewError extends Error {
  override name = 'StoreSchemaTooNewError';
}

const versionTable = `CREATE TABLE IF NOT EXISTS schema_version (
  version UInt32,
  name String,
  applied_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = MergeTree
ORDER BY version
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`;

/** Applies what is missing. Throws StoreSchemaTooNewError, having changed nothing, when the store is ahead of the program. */
export async function migrateStore(connection: SchemaConnection): Promise<void> {
  await connection.command(versionTable);
  const [row] = await connection.rows<{ version: number }>('SELECT max(version) AS version FROM schema_version');
  const present = Number(row?.version ?? 0);
  if (present > migrations.length) {
    throw new StoreSchemaTooNewError(
      `The event store has schema version ${present}, but this program knows versions up to ${migrations.length}. ` +
        'Start the newer version of the program again, or restore a backup from before the upgrade.',
    );
  }
  for (let version = present + 1; version <= migrations.length; version++) {
    const migration = migrations[version - 1];
    if (!migration) continue;
    for (const statement of migration.statements) await connection.command(statement);
    await connection.command(
      `INSERT INTO schema_version (version, name) SELECT toUInt32(${version}), '${migration.name}'`,
    );
  }
}
