import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite, types } from '@electric-sql/pglite';
import { Kysely, PGliteDialect, type QueryCompiler } from 'kysely';
import type { Database } from '../../src/stores/metadata/database.ts';
import { migrate } from '../../src/stores/metadata/migrate.ts';
import { schemaHash } from './metadata.ts';

// As the PostgreSQL adapter reads them: 64-bit integers and sums as numbers.
const parsers = { [types.NUMERIC]: Number, [types.INT8]: Number };

/**
 * PostgreSQL's engine in this process. It holds a migrated store: starting an empty one takes four seconds of CPU, a copy
 * less than one, so the first test that needs it leaves a copy for the others.
 */
export async function openPglite(): Promise<PGlite> {
  const template = join(tmpdir(), `millrace-test-pglite-${await schemaHash()}.tar`);
  if (existsSync(template)) {
    return await PGlite.create({ loadDataDir: new Blob([await readFile(template)]), parsers });
  }
  const pglite = await PGlite.create({ parsers });
  await migrate(kyselyOf(pglite), 'postgres');
  const dump = await pglite.dumpDataDir('none');
  const ours = `${template}.${process.pid}`;
  await writeFile(ours, Buffer.from(await dump.arrayBuffer()));
  await rename(ours, template);
  return pglite;
}

/** The store in it; `destroy` closes both. */
export function kyselyOf(pglite: PGlite, queryCompiler?: QueryCompiler): Kysely<Database> {
  const dialect = new PGliteDialect({ pglite });
  if (queryCompiler === undefined) return new Kysely<Database>({ dialect });
  return new Kysely<Database>({
    dialect: {
      createAdapter: () => dialect.createAdapter(),
      createDriver: () => dialect.createDriver(),
      createIntrospector: (kysely) => dialect.createIntrospector(kysely),
      createQueryCompiler: () => queryCompiler,
    },
  });
}
