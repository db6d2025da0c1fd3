import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Settings } from '../config/settings.ts';
import type { Metadata } from '../metadata/database.ts';
import { migrate, schemaVersion } from '../metadata/migrate.ts';
import { openPostgres } from '../metadata/postgres.ts';
import { openSqlite } from '../metadata/sqlite.ts';
import { listUsers, type User } from '../metadata/users.ts';
import { CommandError } from './exit-codes.ts';

/** File of the embedded metadata store in the data directory. */
export function metadataFile(dataDir: string): string {
  return join(dataDir, 'metadata.sqlite');
}

/**
 * Runs `work` on the metadata store itself: with the server stopped, or beside it. Errors: notFound when there is no store
 * yet, failed when it was written by a newer program.
 */
export async function withMetadata<T>(
  settings: Pick<Settings, 'dataDir' | 'databaseUrl'>,
  work: (db: Metadata, owner: User) => Promise<T>,
): Promise<T> {
  const file = metadataFile(settings.dataDir);
  const embedded = settings.databaseUrl === '';
  if (embedded && !existsSync(file)) throw noStore(`in ${settings.dataDir}`);
  const db = embedded ? openSqlite(file) : openPostgres(settings.databaseUrl);
  try {
    await migrate(db, embedded ? 'sqlite' : 'postgres');
    const [owner] = await listUsers(db);
    if (owner === undefined) throw noStore(embedded ? `in ${settings.dataDir}` : 'in the database of DATABASE_URL');
    return await work(db, owner);
  } finally {
    await db.destroy();
  }
}

/** One sentence about the metadata store, which is left as it is. Errors: whatever keeps it from being read. */
export async function describeMetadata(settings: Pick<Settings, 'dataDir' | 'databaseUrl'>): Promise<string> {
  const file = metadataFile(settings.dataDir);
  const embedded = settings.databaseUrl === '';
  if (embedded && !existsSync(file)) return 'none yet; the first start makes it';
  const db = embedded ? openSqlite(file) : openPostgres(settings.databaseUrl);
  try {
    const { rows } = await sql<{ version: number | null }>`select max(version) as version from schema_version`.execute(
      db,
    );
    const found = rows[0]?.version ?? 0;
    const place = embedded ? file : 'PostgreSQL';
    if (found > schemaVersion)
      throw new Error(`${place} was written by a newer Millrace (schema ${found}, known ${schemaVersion})`);
    return `${place}, schema ${found} of ${schemaVersion}`;
  } finally {
    await db.destroy();
  }
}

function noStore(where: string): CommandError {
  return new CommandError(
    'notFound',
    `no project ${where} yet: run "millrace serve" once, or name the right place with --data-dir or DATABASE_URL`,
  );
}
