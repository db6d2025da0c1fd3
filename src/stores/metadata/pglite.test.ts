import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { testMetadata } from '../../../test/conformance/metadata/metadata.ts';
import { migrate } from './migrate.ts';
import { NulSafeCompiler } from './postgres.ts';

// One instance for all tests. Each test gets an empty schema.
const db = kyselyOf(await openPglite(), new NulSafeCompiler());

describe('the metadata store on PGlite', () => {
  afterAll(() => db.destroy());

  testMetadata({
    dialect: 'postgres',
    nul: 'replaced',
    async open() {
      await emptyStore();
      return { db, other: db, [Symbol.asyncDispose]: async () => undefined };
    },
  });

  it('a store of version 23 gets the schema of a new one', async () => {
    await emptyStore();
    await migrate(db, 'postgres');
    const created = await schemaOf();
    const added = 'oidc_attempts, tasks, signing_keys, retention_policies, tracking_plans, tracking_plan_violations';
    await sql`drop table ${sql.raw(added)}, kept_out_lists, kept_out_ids, project_limits, log_marks`.execute(db);
    await sql`alter table users drop column oidc_issuer, drop column oidc_subject`.execute(db);
    await sql`alter table sessions drop column oidc_issuer, drop column oidc_id_token, drop column scopes`.execute(db);
    await sql`alter table login_links drop column scopes`.execute(db);
    await sql`alter table schema_version drop column usable_from`.execute(db);
    await sql`update schema_version set version = 23`.execute(db);
    expect(await schemaOf()).not.toEqual(created);
    await migrate(db, 'postgres');
    expect(await schemaOf()).toEqual(created);
  });
});

async function emptyStore(): Promise<void> {
  await sql`drop schema public cascade`.execute(db);
  await sql`create schema public`.execute(db);
}

/** Columns and indexes of every table; the order of columns does not count. */
async function schemaOf(): Promise<readonly unknown[]> {
  const columns = await sql`select table_name, column_name, data_type, collation_name, is_nullable, column_default
    from information_schema.columns where table_schema = 'public' order by 1, 2`.execute(db);
  const indexes = await sql`select tablename, indexname, indexdef from pg_indexes
    where schemaname = 'public' order by 1, 2`.execute(db);
  return [...columns.rows, ...indexes.rows];
}
