import type { Selectable } from 'kysely';
import { isoMicros } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Database } from './database.ts';
import type { Queries } from './queries.ts';

export interface User {
  readonly id: number;
  readonly uuid: string;
  readonly organizationId: string;
  readonly firstName: string;
  readonly email: string;
  readonly createdAt: string;
}

export interface NewUser {
  readonly organizationId: string;
  readonly firstName: string;
  readonly email: string;
}

export async function createUser(db: Queries, input: NewUser, now: number): Promise<User> {
  const row = await db
    .insertInto('users')
    .values({
      uuid: newId(),
      organization_id: input.organizationId,
      first_name: input.firstName,
      email: input.email,
      created_at: isoMicros(now),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toUser(row);
}

export async function getUser(db: Queries, id: number): Promise<User | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toUser(row);
}

/** Every user, of one organisation if given; oldest first. */
export async function listUsers(db: Queries, organizationId?: string): Promise<User[]> {
  const rows = await db
    .selectFrom('users')
    .selectAll()
    .$if(organizationId !== undefined, (query) => query.where('organization_id', '=', organizationId ?? ''))
    .orderBy('id')
    .execute();
  return rows.map(toUser);
}

function toUser(row: Selectable<Database['users']>): User {
  return {
    id: row.id,
    uuid: row.uuid,
    organizationId: row.organization_id,
    firstName: row.first_name,
    email: row.email,
    createdAt: row.created_at,
  };
}
