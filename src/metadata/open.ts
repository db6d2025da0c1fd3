import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metadata } from './database.ts';
import type { Dialect } from './migrations/migration.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

/** File of the embedded metadata store in the data directory. */
export function metadataFile(dataDir: string): string {
  return join(dataDir, 'metadata.sqlite');
}

/** The metadata store that the settings name: PostgreSQL, or SQLite in the data directory, which must exist. */
export function openMetadata(
  settings: Pick<Settings, 'dataDir' | 'databaseUrl'>,
  log: Log,
): { db: Metadata; dialect: Dialect } {
  if (settings.databaseUrl === '') return { db: openSqlite(metadataFile(settings.dataDir)), dialect: 'sqlite' };
  const onConnectionLost = (err: Error): void => log.warn({ err }, 'a connection to PostgreSQL was lost');
  return { db: openPostgres(settings.databaseUrl, { onConnectionLost }), dialect: 'postgres' };
}
