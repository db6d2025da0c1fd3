import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { testPluginPackages } from '../../../test/conformance/plugin-packages/plugin-packages.ts';

// One instance for all tests. Each test gets an empty schema.
const pglite = await openPglite();
afterAll(() => pglite.close());

testPluginPackages('postgres', async () => {
  // A separate handle for each, because a handle caches what it has read.
  const db = kyselyOf(pglite);
  await sql`drop schema public cascade`.execute(db);
  await sql`create schema public`.execute(db);
  return { db, [Symbol.asyncDispose]: async () => undefined };
});
