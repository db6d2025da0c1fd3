import { randomBytes } from 'node:crypto';
import { isoMicros } from '../base/clock.ts';
import { keyHash } from '../base/ids.ts';
import type { Queries } from './queries.ts';

const loginLinkMs = 30 * 60_000;
const sessionMs = 14 * 24 * 3_600_000;

interface Lifetime {
  readonly userId: number;
  /** ms since the epoch. */
  readonly now: number;
  readonly lifetimeMs?: number;
}

/** The token of a console link that works once, for 30 minutes unless said otherwise. */
export async function createLoginLink(
  db: Queries,
  { userId, now, lifetimeMs = loginLinkMs }: Lifetime,
): Promise<string> {
  const token = newSecret();
  await db
    .insertInto('login_links')
    .values({
      token_hash: keyHash(token),
      user_id: userId,
      created_at: isoMicros(now),
      expires_at: isoMicros(now + lifetimeMs),
      used_at: null,
    })
    .execute();
  return token;
}

/** Spends the token: the id of its user, or undefined when it is unknown, spent or expired. Of two at once one wins. */
export async function useLoginLink(db: Queries, token: string, now: number): Promise<number | undefined> {
  const row = await db
    .updateTable('login_links')
    .set({ used_at: isoMicros(now) })
    .where('token_hash', '=', keyHash(token))
    .where('used_at', 'is', null)
    .where('expires_at', '>', isoMicros(now))
    .returning('user_id')
    .executeTakeFirst();
  return row?.user_id;
}

export interface Session {
  readonly userId: number;
  readonly organizationId: string;
  readonly expiresAt: string;
}

/** A console session of 14 days unless said otherwise; `value` belongs in the cookie and is not stored. */
export async function createSession(
  db: Queries,
  { userId, now, lifetimeMs = sessionMs }: Lifetime,
): Promise<{ value: string; expiresAt: string }> {
  const value = newSecret();
  const expiresAt = isoMicros(now + lifetimeMs);
  await db
    .insertInto('sessions')
    .values({ id_hash: keyHash(value), user_id: userId, created_at: isoMicros(now), expires_at: expiresAt })
    .execute();
  return { value, expiresAt };
}

/** Undefined when there is no such session or it has expired. */
export async function findSession(db: Queries, value: string, now: number): Promise<Session | undefined> {
  const row = await db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(['sessions.user_id', 'sessions.expires_at', 'users.organization_id'])
    .where('id_hash', '=', keyHash(value))
    .where('expires_at', '>', isoMicros(now))
    .executeTakeFirst();
  return row && { userId: row.user_id, organizationId: row.organization_id, expiresAt: row.expires_at };
}

/** Signs out; unknown values are fine. */
export async function deleteSession(db: Queries, value: string): Promise<void> {
  await db.deleteFrom('sessions').where('id_hash', '=', keyHash(value)).execute();
}

/** Removes expired sessions and login links; to be called now and then. */
export async function deleteExpiredSessions(db: Queries, now: number): Promise<void> {
  await db.deleteFrom('sessions').where('expires_at', '<=', isoMicros(now)).execute();
  await db.deleteFrom('login_links').where('expires_at', '<=', isoMicros(now)).execute();
}

/** 256 random bits, safe in a URL and in a cookie. */
function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
