import type { Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { Database } from './database.ts';
import type { Queries } from './queries.ts';

export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
}

/** `now` in ms since the epoch, here and in every query file. */
export async function createOrganization(
  db: Queries,
  input: { readonly name: string },
  now: number,
): Promise<Organization> {
  const row = { id: newId(), name: input.name, created_at: isoMicros(now) };
  await db.insertInto('organizations').values(row).execute();
  return toOrganization(row);
}

export async function getOrganization(db: Queries, id: string): Promise<Organization | undefined> {
  const row = await db.selectFrom('organizations').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toOrganization(row);
}

/** Lists organisations, oldest first. */
export async function listOrganizations(db: Queries): Promise<Organization[]> {
  const rows = await db.selectFrom('organizations').selectAll().orderBy('created_at').orderBy('id').execute();
  return rows.map(toOrganization);
}

function toOrganization(row: Selectable<Database['organizations']>): Organization {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}
