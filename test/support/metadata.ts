import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdtemp, readFile, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { migrate } from '../../src/stores/metadata/migrate.ts';
import { openSqlite } from '../../src/stores/metadata/sqlite.ts';

export interface TempMetadata extends AsyncDisposable {
  readonly db: Metadata;
  /** The SQLite file, for a second handle on it. */
  readonly file: string;
}

const metadataDir = join(import.meta.dirname, '../../src/stores/metadata');

/**
 * A migrated metadata store in its own temp directory, removed on disposal:
 * `await using store = await tempMetadata()`. It is not flushed to the disk: tests end processes, not machines.
 */
export async function tempMetadata(): Promise<TempMetadata> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-metadata-'));
  const file = join(directory, 'metadata.db');
  await copyMigrated(file);
  const db = openSqlite(file);
  await sql`pragma synchronous = off`.execute(db);
  return {
    db,
    file,
    async [Symbol.asyncDispose]() {
      await db.destroy();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Migrating takes ten times as long as copying: the first test that needs a store leaves a migrated one for the others. */
async function copyMigrated(file: string): Promise<void> {
  const template = join(tmpdir(), `millrace-test-metadata-${await schemaHash()}.db`);
  try {
    return await copyFile(template, file, constants.COPYFILE_EXCL);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const db = openSqlite(file);
  await migrate(db, 'sqlite');
  // Closing folds the log into the file.
  await db.destroy();
  await copyFile(file, `${file}.template`);
  await rename(`${file}.template`, template);
}

let hashed: Promise<string> | undefined;

/** Of everything that decides what a migrated store looks like. */
export function schemaHash(): Promise<string> {
  return (hashed ??= hashSchema());
}

async function hashSchema(): Promise<string> {
  const tables = join(metadataDir, 'tables');
  const others = ['migrate.ts', 'database.ts'].map((name) => join(metadataDir, name));
  const files = [...others, ...(await readdir(tables)).map((name) => join(tables, name))];
  const hash = createHash('sha256');
  for (const text of await Promise.all(files.sort().map((path) => readFile(path)))) hash.update(text);
  return hash.digest('hex').slice(0, 16);
}
