import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { testNotices } from '../../../test/conformance/notices/notices.ts';

// One instance for all tests. Each test gets empty tables.
const db = kyselyOf(await openPglite());
afterAll(() => db.destroy());

testNotices(async () => {
  await sql`truncate organizations, notice_conditions cascade`.execute(db);
  return { db, other: db, [Symbol.asyncDispose]: async () => undefined };
});
