import type { Kysely } from 'kysely';
import { accountTables } from './tables/accounts.ts';
import { importTables } from './tables/imports.ts';
import { noticeTables } from './tables/notices.ts';
import { pipelineTables } from './tables/pipeline.ts';
import { pluginTables } from './tables/plugins.ts';
import { processTables } from './tables/processes.ts';
import type { Rows } from './tables/table.ts';
import { taskTables } from './tables/tasks.ts';

export type Dialect = 'sqlite' | 'postgres';

/**
 * The tables of the metadata store, the same on SQLite and PostgreSQL. A table comes after those that it references.
 *
 * Conventions, so that both dialects agree byte for byte:
 * - times are text: ISO 8601 UTC with microseconds and Z, which sorts as it reads (`micros` columns are integers instead)
 * - booleans are 0 or 1; JSON is text
 */
export const tables = {
  ...accountTables,
  ...pluginTables,
  ...pipelineTables,
  ...importTables,
  ...noticeTables,
  ...processTables,
  ...taskTables,
};

/** Their rows. */
export type Database = Rows<typeof tables>;
export type Metadata = Kysely<Database>;
