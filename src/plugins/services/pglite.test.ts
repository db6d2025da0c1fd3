import { PGlite, types } from '@electric-sql/pglite';
import { Kysely, PGliteDialect, sql } from 'kysely';
import { afterAll, beforeAll } from 'vitest';
import type { Database } from '../../metadata/database.ts';
import { migrate } from '../../metadata/migrate.ts';
import { testPluginServices } from './conformance.ts';

// One instance for all tests: starting it takes seconds. Each test gets empty tables.
const pglite = new PGlite({ parsers: { [types.NUMERIC]: Number } });
const db = new Kysely<Database>({ dialect: new PGliteDialect({ pglite }) });
beforeAll(() => migrate(db, 'postgres'));
afterAll(() => db.destroy());

testPluginServices(async () => {
  await sql`truncate organizations, plugins, plugin_storage, plugin_logs, plugin_errors, plugin_metrics,
    plugin_own_metrics cascade`.execute(db);
  return { db, other: db, [Symbol.asyncDispose]: async () => undefined };
});
