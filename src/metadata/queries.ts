import type { Kysely } from 'kysely';
import type { Database } from './database.ts';

/** What a query function takes: the store itself or a transaction on it. */
export type Queries = Kysely<Database>;
