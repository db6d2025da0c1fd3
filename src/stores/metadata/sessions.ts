import { randomBytes } from 'node:crypto';
import { isoMicros } from '../../base/clock.ts';
import { keyHash, newId } from '../../base/ids.ts';
import type { Role } from '../../wire/contract/roles.ts';
import { inTransaction, type Queries } from './queries.ts';

/** Lifetime of a link for immediate use. */
export const loginLinkMs = 30 * 60_000;

/** When sessions end, in addition to their own expiry. Applies to existing sessions as well. */
export interface SessionPolicy {
  /** Since the sign-in. */
  readonly lifeMsMax: number;
  /** Since the last use; `undefined` for no limit. */
  readonly idleMs: number | undefined;
}

export const defaultSessionPolicy: SessionPolicy = { lifeMsMax: 14 * 24 * 3_600_000, idleMs: undefined };

/** A user, and the scopes that a session of this sign-in has. */
export interface SignedIn {
  readonly userId: number;
  /** `null` for every scope. */
  readonly scopes: readonly string[] | null;
}

interface Lifetime {
  readonly userId: number;
  /** ms since the epoch. */
  readonly now: number;
  readonly lifetimeMs?: number;
  /** Those of the session. By default every scope, or those of the key that opens it. */
  readonly scopes?: readonly string[] | null;
}

/** Creates the token of a console link that works once, for 30 minutes by default. */
export async function createLoginLink(
  db: Queries,
  { userId, now, lifetimeMs = loginLinkMs, scopes = null }: Lifetime,
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
      scopes: scopes && JSON.stringify(scopes),
    })
    .execute();
  return token;
}

/** Uses the token and returns its user and scopes; undefined if it is unknown, used or expired. Of two concurrent uses one succeeds. */
export async function useLoginLink(db: Queries, token: string, now: number): Promise<SignedIn | undefined> {
  const row = await db
    .updateTable('login_links')
    .set({ used_at: isoMicros(now) })
    .where('token_hash', '=', keyHash(token))
    .where('used_at', 'is', null)
    .where('expires_at', '>', isoMicros(now))
    .returning(['user_id', 'scopes'])
    .executeTakeFirst();
  return row && { userId: row.user_id, scopes: scopesOf(row.scopes) };
}

/** Lifetime of an invitation, which may have to last a weekend. */
export const invitationMs = 72 * 3_600_000;

export interface Session extends SignedIn {
  readonly id: string;
  readonly role: Role;
  /** The personal key that opened the session, or `null` if a link did. */
  readonly keyId: string | null;
  readonly organizationId: string;
  readonly expiresAt: string;
  readonly lastUsedAt: string | null;
}

interface NewSession extends Lifetime {
  /** keyHash of the personal key that opens the session, which ends when the key is deleted or rolled. */
  readonly keyHash?: string;
  /** Such as `Firefox on Linux`. By default unknown. */
  readonly browser?: string;
  /** Network address of the sign-in. By default unknown. */
  readonly address?: string;
  /** The OpenID Connect provider that opens the session. By default a link or a key does. */
  readonly oidc?: OidcSession | undefined;
  readonly policy?: SessionPolicy | undefined;
}

export interface OidcSession {
  readonly issuer: string;
  /** Undefined if it is too large to be kept. */
  readonly idToken: string | undefined;
}

/** Creates a console session, by default for as long as the policy permits; `value` belongs in the cookie and is not stored. */
export async function createSession(db: Queries, input: NewSession): Promise<{ value: string; expiresAt: string }> {
  const { userId, now, keyHash: openedWith, browser = '', address = '', oidc, policy = defaultSessionPolicy } = input;
  const { scopes = null } = input;
  const value = newSecret();
  const expiresAt = isoMicros(now + Math.min(input.lifetimeMs ?? policy.lifeMsMax, policy.lifeMsMax));
  await db
    .insertInto('sessions')
    .values({
      id_hash: keyHash(value),
      user_id: userId,
      key_hash: openedWith ?? null,
      id: newId(),
      browser,
      address,
      created_at: isoMicros(now),
      expires_at: expiresAt,
      oidc_issuer: oidc?.issuer ?? null,
      oidc_id_token: oidc?.idToken ?? null,
      scopes: scopes && JSON.stringify(scopes),
    })
    .execute();
  return { value, expiresAt };
}

/** Returns undefined if there is no such session, or it or the key that opened it is not valid any more. */
export async function findSession(
  db: Queries,
  value: string,
  now: number,
  policy: SessionPolicy = defaultSessionPolicy,
): Promise<Session | undefined> {
  const row = await validSessions(db, now, policy)
    .select(['sessions.id', 'sessions.user_id', 'sessions.expires_at', 'sessions.last_used_at', 'sessions.created_at'])
    .select(['users.organization_id', 'users.role', 'personal_api_keys.id as key_id'])
    .select((eb) => eb.fn.coalesce('personal_api_keys.scopes', 'sessions.scopes').as('scopes'))
    .where('sessions.id_hash', '=', keyHash(value))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return {
    id: row.id,
    userId: row.user_id,
    role: row.role,
    scopes: scopesOf(row.scopes),
    keyId: row.key_id,
    organizationId: row.organization_id,
    expiresAt: earliest(row.expires_at, lifeEnd(row, policy), idleEnd(row, policy)),
    lastUsedAt: row.last_used_at,
  };
}

function scopesOf(json: string | null): readonly string[] | null {
  return json === null ? null : (JSON.parse(json) as readonly string[]);
}

interface Times {
  readonly created_at: string;
  readonly last_used_at: string | null;
}

function lifeEnd({ created_at: createdAt }: Times, { lifeMsMax }: SessionPolicy): string {
  return isoMicros(Date.parse(createdAt) + lifeMsMax);
}

function idleEnd(
  { created_at: createdAt, last_used_at: lastUsedAt }: Times,
  { idleMs }: SessionPolicy,
): string | undefined {
  return idleMs === undefined ? undefined : isoMicros(Date.parse(lastUsedAt ?? createdAt) + idleMs);
}

/** Times sort as text. */
function earliest(first: string, ...others: readonly (string | undefined)[]): string {
  return others.reduce<string>((least, time) => (time !== undefined && time < least ? time : least), first);
}

/** A session in its user's list. */
export interface ListedSession {
  readonly id: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly lastUsedAt: string | null;
  readonly browser: string;
  readonly address: string;
  readonly openedBy: 'link' | 'key' | 'oidc';
}

/** Lists the valid sessions of a user, newest first. */
export async function listSessions(
  db: Queries,
  userId: number,
  now: number,
  policy: SessionPolicy = defaultSessionPolicy,
): Promise<ListedSession[]> {
  const rows = await validSessions(db, now, policy)
    .selectAll('sessions')
    .where('sessions.user_id', '=', userId)
    .orderBy('sessions.created_at', 'desc')
    .orderBy('sessions.id', 'desc')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    createdAt: row.created_at,
    expiresAt: earliest(row.expires_at, lifeEnd(row, policy)),
    lastUsedAt: row.last_used_at,
    browser: row.browser,
    address: row.address,
    openedBy: row.key_hash !== null ? 'key' : row.oidc_issuer !== null ? 'oidc' : 'link',
  }));
}

/** Ends one session of a user, or all but `except`; returns their number. */
export async function endSessions(
  db: Queries,
  userId: number,
  which: { readonly id: string } | { readonly except: string | undefined },
): Promise<number> {
  // An unused link could open a session again.
  if ('except' in which) await db.deleteFrom('login_links').where('user_id', '=', userId).execute();
  let query = db.deleteFrom('sessions').where('user_id', '=', userId);
  if ('id' in which) query = query.where('id', '=', which.id);
  else if (which.except !== undefined) query = query.where('id', '<>', which.except);
  return (await query.returning('id').execute()).length;
}

/** Sets last_used_at by session id. */
export async function touchSessions(db: Queries, lastUsedAt: ReadonlyMap<string, string>): Promise<void> {
  // Sorted, so that two processes cannot deadlock.
  const entries = [...lastUsedAt].toSorted(([a], [b]) => (a < b ? -1 : 1));
  await inTransaction(db, async (tx) => {
    for (const [id, time] of entries) {
      await tx.updateTable('sessions').set({ last_used_at: time }).where('id', '=', id).execute();
    }
  });
}

export async function hasValidSession(db: Queries, now: number, policy: SessionPolicy): Promise<boolean> {
  const row = await validSessions(db, now, policy).select('sessions.id_hash').limit(1).executeTakeFirst();
  return row !== undefined;
}

/** Selects sessions of active users. A deleted or rolled key is not found by its hash any more. */
export function validSessions(db: Queries, now: number, { lifeMsMax, idleMs }: SessionPolicy) {
  const used = db.fn.coalesce('sessions.last_used_at', 'sessions.created_at');
  return db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .leftJoin('personal_api_keys', 'personal_api_keys.secure_value', 'sessions.key_hash')
    .where('sessions.expires_at', '>', isoMicros(now))
    .where('sessions.created_at', '>', isoMicros(now - lifeMsMax))
    .$if(idleMs !== undefined, (query) => query.where(used, '>', isoMicros(now - (idleMs ?? 0))))
    .where('users.deactivated_at', 'is', null)
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

/** Signs out; unknown values are ignored. Returns the provider that opened the session, if one did. */
export async function deleteSession(db: Queries, value: string): Promise<OidcSession | undefined> {
  const row = await db
    .deleteFrom('sessions')
    .where('id_hash', '=', keyHash(value))
    .returning(['oidc_issuer', 'oidc_id_token'])
    .executeTakeFirst();
  if (row === undefined || row.oidc_issuer === null) return undefined;
  return { issuer: row.oidc_issuer, idToken: row.oidc_id_token ?? undefined };
}

/** Removes expired sessions and login links; call it periodically. */
export async function deleteExpiredSessions(db: Queries, now: number): Promise<void> {
  await db.deleteFrom('sessions').where('expires_at', '<=', isoMicros(now)).execute();
  await db.deleteFrom('login_links').where('expires_at', '<=', isoMicros(now)).execute();
}

/** 256 random bits, safe in a URL and in a cookie. */
function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
