import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { testPluginConfigs } from '../../../test/conformance/plugin-configs/plugin-configs.ts';

// One instance for all tests. Each test gets an empty schema.
const db = kyselyOf(await openPglite());
afterAll(() => db.destroy());

testPluginConfigs('postgres', async () => {
  await sql`drop schema public cascade`.execute(db);
  await sql`create schema public`.execute(db);
  return { db, other: db, [Symbol.asyncDispose]: async () => undefined };
});
