import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { testTasks } from '../../../test/conformance/tasks/tasks.ts';

// One instance for all tests. Each test gets an empty table.
const db = kyselyOf(await openPglite());
afterAll(() => db.destroy());

testTasks(async () => {
  await sql`truncate tasks`.execute(db);
  return { db, [Symbol.asyncDispose]: async () => undefined };
});
