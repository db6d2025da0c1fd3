import { PGlite, types } from '@electric-sql/pglite';
import { Kysely, PGliteDialect, sql } from 'kysely';
import { afterAll } from 'vitest';
import type { Database } from '../../metadata/database.ts';
import { testPluginPackages } from './conformance.ts';

// One instance for all tests: starting it takes seconds. Each test gets an empty schema.
const pglite = new PGlite({ parsers: { [types.NUMERIC]: Number } });
afterAll(() => pglite.close());

testPluginPackages('postgres', async () => {
  // A handle of its own for each: what one has read stays with it.
  const db = new Kysely<Database>({ dialect: new PGliteDialect({ pglite }) });
  await sql`drop schema public cascade`.execute(db);
  await sql`create schema public`.execute(db);
  return { db, [Symbol.asyncDispose]: async () => undefined };
});
