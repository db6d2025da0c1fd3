import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { testImportRuns } from '../../../test/conformance/import-runs/import-runs.ts';

// One instance for all tests. Each test gets empty tables.
const db = kyselyOf(await openPglite());
afterAll(() => db.destroy());

testImportRuns(async () => {
  await sql`truncate import_runs, import_parts, import_days, import_loads, import_load_marks`.execute(db);
  return { db, other: db, [Symbol.asyncDispose]: async () => undefined };
});
