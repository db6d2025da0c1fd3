import { sql } from 'kysely';
import type { Queries } from '../metadata/queries.ts';

/** Returns the id of a move that has started to fill this store and has not ended, if any. PostgreSQL only. */
export async function unfinishedMove(db: Queries): Promise<string | undefined> {
  if (!(await hasTable(db, 'move_from'))) return undefined;
  const { rows } = await sql<{ id: string }>`select id from move_from`.execute(db);
  return rows[0]?.id;
}

/** PostgreSQL only. */
export async function hasTable(db: Queries, name: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select to_regclass(${name}) is not null as found`.execute(db);
  return rows[0]?.found === true;
}
