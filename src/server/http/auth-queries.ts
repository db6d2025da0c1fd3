import { keyHash } from '../../base/ids.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { findPersonalApiKey } from '../../stores/metadata/personal-api-keys.ts';
import { listProjects } from '../../stores/metadata/projects.ts';
import { findSession, type SessionPolicy } from '../../stores/metadata/sessions.ts';
import type { Principal, ProjectRef } from './api-route.ts';

/** A principal from the store. */
export interface KnownPrincipal {
  readonly principal: Principal;
  /** Id of the personal key, or of the one that opened the session. `null` for a session opened by link. */
  readonly keyId: string | null;
  /** keyHash of the secret, as stored. */
  readonly hash: string;
  /** ms since the epoch; Infinity for never. */
  readonly expiresAt: number;
  readonly lastUsedAt: string | null;
}

/** Finds the principal of a personal key. */
export async function findKey(db: Metadata, value: string): Promise<KnownPrincipal | undefined> {
  const hash = keyHash(value);
  const key = await findPersonalApiKey(db, hash);
  if (key === undefined) return undefined;
  const { id: keyId, userId, organizationId, role, scopes, scopedProjects: projectIds, expiresAt, lastUsedAt } = key;
  return {
    principal: { kind: 'key', keyId, userId, organizationId, role, scopes, projectIds },
    keyId,
    hash,
    expiresAt: expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
    lastUsedAt,
  };
}

/** Finds the console session of a cookie. */
export async function findSessionPrincipal(
  db: Metadata,
  cookie: string,
  now: number,
  policy: SessionPolicy,
): Promise<KnownPrincipal | undefined> {
  const session = await findSession(db, cookie, now, policy);
  if (session === undefined) return undefined;
  const { id: sessionId, userId, organizationId, role, scopes, keyId, expiresAt, lastUsedAt } = session;
  return {
    principal: { kind: 'session', sessionId, userId, organizationId, role, scopes },
    keyId,
    hash: keyHash(cookie),
    expiresAt: Date.parse(expiresAt),
    lastUsedAt,
  };
}

/** The project of `@current`: the first one that the principal can access. */
export async function findFirstProject(db: Metadata, principal: Principal): Promise<ProjectRef | undefined> {
  const ids = allowedProjects(principal);
  const { projects } = await listProjects(db, { organizationId: principal.organizationId, ids, limit: 1 });
  return projects[0];
}

/** `null` for every project of the organisation. */
export function allowedProjects(principal: Principal): readonly number[] | null {
  return principal.kind === 'key' ? principal.projectIds : null;
}

/** `null` for every scope. */
export function scopesOf(principal: Principal): readonly string[] | null {
  return principal.kind === 'operator' ? null : principal.scopes;
}
