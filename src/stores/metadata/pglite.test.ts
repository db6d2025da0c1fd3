import { sql } from 'kysely';
import { afterAll, describe } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { testMetadata } from '../../../test/conformance/metadata/metadata.ts';
import { NulSafeCompiler } from './postgres.ts';

// One instance for all tests. Each test gets an empty schema.
const db = kyselyOf(await openPglite(), new NulSafeCompiler());

describe('the metadata store on PGlite', () => {
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
