import { PGlite, types } from '@electric-sql/pglite';
import { Kysely, PGliteDialect, sql } from 'kysely';
import { afterAll, describe } from 'vitest';
import { testMetadata } from './conformance.ts';
import type { Database } from './database.ts';
import { NulSafeCompiler } from './postgres.ts';

describe('the metadata store on PGlite', () => {
  // One instance for all tests: starting it takes seconds. Each test gets an empty schema.
  const pglite = new PGlite({ parsers: { [types.NUMERIC]: Number } });
  const dialect = new PGliteDialect({ pglite });
  const db = new Kysely<Database>({
    dialect: {
      createAdapter: () => dialect.createAdapter(),
      createDriver: () => dialect.createDriver(),
      createIntrospector: (kysely) => dialect.createIntrospector(kysely),
      createQueryCompiler: () => new NulSafeCompiler(),
    },
  });
  afterAll(() => db.destroy());

  testMetadata({
    dialect: 'postgres',
    nul: 'replaced',
    async open() {
      await sql`drop schema public cascade`.execute(db);
      await sql`create schema public`.execute(db);
      return { db, other: db, [Symbol.asyncDispose]: async () => undefined };
    },
  });
});
