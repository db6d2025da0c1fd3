import { sql } from 'kysely';
import { beforeAll } from 'vitest';
import { migrate } from '../../stores/metadata/migrate.ts';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';
import { testSchedules } from '../../../test/conformance/import-schedules/import-schedules.ts';

describeOnPostgres('schedules of imports on PostgreSQL', ({ db, other }) => {
  beforeAll(() => migrate(db, 'postgres'));

  testSchedules(async () => {
    await sql`truncate organizations, plugins, import_runs cascade`.execute(db);
    return { db, other, [Symbol.asyncDispose]: async () => undefined };
  });
});
