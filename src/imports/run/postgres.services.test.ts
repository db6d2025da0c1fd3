import { sql } from 'kysely';
import { beforeAll } from 'vitest';
import { migrate } from '../../stores/metadata/migrate.ts';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';
import { testImportRuns } from '../../../test/conformance/import-runs/import-runs.ts';

describeOnPostgres('import runs on PostgreSQL', ({ db, other }) => {
  beforeAll(() => migrate(db, 'postgres'));

  testImportRuns(async () => {
    await sql`truncate import_runs, import_parts, import_days, import_loads, import_load_marks`.execute(db);
    return { db, other, [Symbol.asyncDispose]: async () => undefined };
  });
});
