import { sql } from 'kysely';
import { beforeAll } from 'vitest';
import { migrate } from '../../stores/metadata/migrate.ts';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';
import { testJobs } from '../../../test/conformance/jobs/jobs.ts';

describeOnPostgres('jobs on PostgreSQL', ({ db, other }) => {
  beforeAll(() => migrate(db, 'postgres'));

  testJobs(async () => {
    await sql`truncate organizations, plugins, jobs, plugin_metrics, activity_log cascade`.execute(db);
    return { db, other, [Symbol.asyncDispose]: async () => undefined };
  });
});
