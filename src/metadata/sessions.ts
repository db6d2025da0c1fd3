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
  /** The personal key that it was opened with; null: opened by link. */
  readonly keyId: string | null;
  readonly organizationId: string;
  readonly expiresAt: string;
}

interface NewSession extends Lifetime {
  /** keyHash of the personal key that opens it: the session ends when the key is deleted or gets a new value. */
  readonly keyHash?: string;
}

/** A console session of 14 days unless said otherwise; `value` belongs in the cookie and is not stored. */
export async function createSession(
  db: Queries,
  { userId, now, lifetimeMs = sessionMs, keyHash: openedWith }: NewSession,
): Promise<{ value: string; expiresAt: string }> {
  const value = newSecret();
  const expiresAt = isoMicros(now + lifetimeMs);
  await db
    .insertInto('sessions')
    .values({
      id_hash: keyHash(value),
      user_id: userId,
      key_hash: openedWith ?? null,
      created_at: isoMicros(now),
      expires_at: expiresAt,
    })
    .execute();
  return { value, expiresAt };
}

/** Undefined when there is no such session, or it or the key that opened it is no longer valid. */
export async function findSession(db: Queries, value: string, now: number): Promise<Session | undefined> {
  const row = await validSessions(db, now)
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(['sessions.user_id', 'sessions.expires_at', 'users.organization_id', 'personal_api_keys.id as key_id'])
    .where('sessions.id_hash', '=', keyHash(value))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { user_id: userId, key_id: keyId, organization_id: organizationId, expires_at: expiresAt } = row;
  return { userId, keyId, organizationId, expiresAt };
}

export async function hasValidSession(db: Queries, now: number): Promise<boolean> {
  const row = await validSessions(db, now).select('sessions.id_hash').limit(1).executeTakeFirst();
  return row !== undefined;
}

/** A key that was deleted or rolled is not found by its hash any more, whoever did it and whenever. */
function validSessions(db: Queries, now: number) {
  return db
    .selectFrom('sessions')
    .leftJoin('personal_api_keys', 'personal_api_keys.secure_value', 'sessions.key_hash')
    .where('sessions.expires_at', '>', isoMicros(now))
    .where((eb) =>
      eb.or([
        eb('sessions.key_hash', 'is', null),
        eb.and([
          eb('personal_api_keys.id', 'is not', null),
          eb.or([
            eb('personal_api_keys.expires_at', 'is', null),
            eb('personal_api_keys.expires_at', '>', isoMicros(now)),
          ]),
        ]),
      ]),
    );
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
