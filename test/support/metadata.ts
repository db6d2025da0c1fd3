import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Metadata } from '../../src/metadata/database.ts';
import { migrate } from '../../src/metadata/migrate.ts';
import { openSqlite } from '../../src/metadata/sqlite.ts';

export interface TempMetadata extends AsyncDisposable {
  readonly db: Metadata;
  /** The SQLite file, for a second handle on it. */
  readonly file: string;
}

/**
 * A migrated metadata store in a temp directory of its own, removed on disposal:
 * `await using store = await tempMetadata()`.
 */
export async function tempMetadata(): Promise<TempMetadata> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-metadata-'));
  const file = join(directory, 'metadata.db');
  const db = openSqlite(file);
  await migrate(db, 'sqlite');
  return {
    db,
    file,
    async [Symbol.asyncDispose]() {
      await db.destroy();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
