import type { Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { Role } from '../../wire/contract/roles.ts';
import type { Database } from './database.ts';
import type { Queries } from './queries.ts';

export interface User {
  readonly id: number;
  readonly uuid: string;
  readonly organizationId: string;
  readonly firstName: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: string;
  /** Since when the user is deactivated: neither sessions nor keys work. Null if active. */
  readonly deactivatedAt: string | null;
}

export interface NewUser {
  readonly organizationId: string;
  readonly firstName: string;
  readonly email: string;
  readonly role: Role;
}

/** Within an organisation users are identified by their address. */
export class EmailTakenError extends Error {
  override name = 'EmailTakenError';

  constructor() {
    super('expected an address that no user of the organisation has, got one that is taken');
  }
}

/** Adds an invited user; call it in a transaction. @throws EmailTakenError */
export async function addUser(tx: Queries, input: NewUser, now: number): Promise<User> {
  await lockUsers(tx, input.organizationId);
  await checkEmailFree(tx, input.organizationId, input.email);
  return createUser(tx, input, now);
}

export async function createUser(db: Queries, input: NewUser, now: number): Promise<User> {
  const row = await db
    .insertInto('users')
    .values({
      uuid: newId(),
      organization_id: input.organizationId,
      first_name: input.firstName,
      email: input.email,
      role: input.role,
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

/** Lists the users, of one organisation if given; oldest first. */
export async function listUsers(db: Queries, organizationId?: string): Promise<User[]> {
  const rows = await db
    .selectFrom('users')
    .selectAll()
    .$if(organizationId !== undefined, (query) => query.where('organization_id', '=', organizationId ?? ''))
    .orderBy('id')
    .execute();
  return rows.map(toUser);
}

/** Returns the oldest active admin, of one organisation if given. There always is one: see `changeUser`. */
export async function firstAdmin(db: Queries, organizationId?: string): Promise<User | undefined> {
  return (await listUsers(db, organizationId)).find(isActiveAdmin);
}

export interface UserChanges {
  readonly firstName?: string;
  readonly email?: string;
  readonly role?: Role;
  /** ISO 8601 UTC with microseconds. Null reactivates the user. */
  readonly deactivatedAt?: string | null;
}

/** Without an admin no user could be managed. */
export class LastAdminError extends Error {
  override name = 'LastAdminError';

  constructor() {
    super('expected another active admin, got none: the organisation would have no user to manage it');
  }
}

/**
 * Changes a user; call it in a transaction. A deactivated user is signed out; the keys stay, and work again after reactivation. Returns
 * undefined if the organisation has no such user.
 *
 * @throws LastAdminError, EmailTakenError
 */
export async function changeUser(
  tx: Queries,
  organizationId: string,
  id: number,
  { firstName, email, role, deactivatedAt }: UserChanges,
): Promise<User | undefined> {
  await lockUsers(tx, organizationId);
  if (email !== undefined) await checkEmailFree(tx, organizationId, email, id);
  const row = await tx
    .updateTable('users')
    .set({
      // Always sets a column, because SQL has no empty update.
      organization_id: organizationId,
      ...(firstName !== undefined && { first_name: firstName }),
      ...(email !== undefined && { email }),
      ...(role !== undefined && { role }),
      ...(deactivatedAt !== undefined && { deactivated_at: deactivatedAt }),
    })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return undefined;
  await checkAdminLeft(tx, organizationId);
  if (row.deactivated_at !== null) await signOut(tx, id);
  return toUser(row);
}

/**
 * Deletes a user with its sessions, links and keys; call it in a transaction. The activity log keeps the name. Returns the deleted user,
 * or undefined if the organisation has no such user.
 *
 * @throws LastAdminError
 */
export async function deleteUser(tx: Queries, organizationId: string, id: number): Promise<User | undefined> {
  await lockUsers(tx, organizationId);
  const row = await tx
    .deleteFrom('users')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return undefined;
  await checkAdminLeft(tx, organizationId);
  const name = row.email === '' ? row.first_name : `${row.first_name} (${row.email})`;
  await tx.updateTable('activity_log').set({ user_name: name }).where('user_id', '=', id).execute();
  return toUser(row);
}

/** Prevents two admins from removing each other concurrently. */
async function lockUsers(tx: Queries, organizationId: string): Promise<void> {
  const own = tx.updateTable('users').set((eb) => ({ email: eb.ref('email') }));
  await own.where('organization_id', '=', organizationId).execute();
}

async function checkEmailFree(tx: Queries, organizationId: string, email: string, own?: number): Promise<void> {
  const wanted = email.toLowerCase();
  const users = await listUsers(tx, organizationId);
  if (users.some((user) => user.id !== own && user.email.toLowerCase() === wanted)) throw new EmailTakenError();
}

async function checkAdminLeft(tx: Queries, organizationId: string): Promise<void> {
  if ((await firstAdmin(tx, organizationId)) === undefined) throw new LastAdminError();
}

async function signOut(tx: Queries, userId: number): Promise<void> {
  await tx.deleteFrom('sessions').where('user_id', '=', userId).execute();
  await tx.deleteFrom('login_links').where('user_id', '=', userId).execute();
}

function isActiveAdmin({ role, deactivatedAt }: User): boolean {
  return role === 'admin' && deactivatedAt === null;
}

function toUser(row: Selectable<Database['users']>): User {
  return {
    id: row.id,
    uuid: row.uuid,
    organizationId: row.organization_id,
    firstName: row.first_name,
    email: row.email,
    role: row.role,
    createdAt: row.created_at,
    deactivatedAt: row.deactivated_at,
  };
}
