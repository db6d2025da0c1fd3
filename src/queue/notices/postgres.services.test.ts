import { sql } from 'kysely';
import { beforeAll } from 'vitest';
import { migrate } from '../../stores/metadata/migrate.ts';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';
import { testNotices } from '../../../test/conformance/notices/notices.ts';

describeOnPostgres('notices on PostgreSQL', ({ db, other }) => {
  beforeAll(() => migrate(db, 'postgres'));

  testNotices(async () => {
    await sql`truncate organizations, notice_conditions cascade`.execute(db);
    return { db, other, [Symbol.asyncDispose]: async () => undefined };
  });
});
