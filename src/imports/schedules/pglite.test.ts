import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { testSchedules } from '../../../test/conformance/import-schedules/import-schedules.ts';

// One instance for all tests. Each test gets empty tables.
const db = kyselyOf(await openPglite());
afterAll(() => db.destroy());

testSchedules(async () => {
  await sql`truncate organizations, plugins, import_runs cascade`.execute(db);
  return { db, other: db, [Symbol.asyncDispose]: async () => undefined };
});
