import { PGlite, types } from '@electric-sql/pglite';
import { Kysely, PGliteDialect, sql } from 'kysely';
import { afterAll, beforeAll } from 'vitest';
import type { Database } from '../../metadata/database.ts';
import { migrate } from '../../metadata/migrate.ts';
import { testImportRuns } from './conformance.ts';

// One instance for all tests: starting it takes seconds. Each test gets empty tables.
const pglite = new PGlite({ parsers: { [types.NUMERIC]: Number } });
const db = new Kysely<Database>({ dialect: new PGliteDialect({ pglite }) });
beforeAll(() => migrate(db, 'postgres'));
afterAll(() => db.destroy());

testImportRuns(async () => {
  await sql`truncate import_runs, import_parts, import_days`.execute(db);
  return { db, other: db, [Symbol.asyncDispose]: async () => undefined };
});
