import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { testJobs } from '../../../test/conformance/jobs/jobs.ts';

// One instance for all tests. Each test gets empty tables.
const db = kyselyOf(await openPglite());
afterAll(() => db.destroy());

testJobs(async () => {
  await sql`truncate organizations, plugins, jobs, plugin_metrics, activity_log cascade`.execute(db);
  return { db, other: db, [Symbol.asyncDispose]: async () => undefined };
});
