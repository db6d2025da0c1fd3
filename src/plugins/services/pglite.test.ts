import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { testPluginServices } from '../../../test/conformance/plugin-services/plugin-services.ts';

// One instance for all tests. Each test gets empty tables.
const db = kyselyOf(await openPglite());
afterAll(() => db.destroy());

testPluginServices(async () => {
  await sql`truncate organizations, plugins, plugin_storage, plugin_logs, plugin_errors, plugin_metrics,
    plugin_own_metrics cascade`.execute(db);
  return { db, other: db, [Symbol.asyncDispose]: async () => undefined };
});
