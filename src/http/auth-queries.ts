import { keyHash } from '../base/ids.ts';
import type { Metadata } from '../metadata/database.ts';
import { listProjects } from '../metadata/projects.ts';
import { findSession } from '../metadata/sessions.ts';
import type { Principal, ProjectRef } from './api-route.ts';

/** A principal as read from the store. */
export interface KnownPrincipal {
  readonly principal: Principal;
  /** The personal key that it is, or that opened the session; null: a session opened by link. */
  readonly keyId: string | null;
  /** keyHash of the secret, as stored. */
  readonly hash: string;
  /** ms since the epoch; infinity: never. */
  readonly expiresAt: number;
  readonly lastUsedAt: string | null;
}

/** A personal key with the organisation of its user, in one query. */
export async function findKey(db: Metadata, key: string): Promise<KnownPrincipal | undefined> {
  const row = await db
    .selectFrom('personal_api_keys')
    .innerJoin('users', 'users.id', 'personal_api_keys.user_id')
    .selectAll('personal_api_keys')
    .select('users.organization_id')
    .where('secure_value', '=', keyHash(key))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return {
    principal: {
      kind: 'key',
      keyId: row.id,
      userId: row.user_id,
      organizationId: row.organization_id,
      // Sound: metadata/personal-api-keys.ts writes nothing else into these columns.
      scopes: JSON.parse(row.scopes) as string[],
      projectIds: row.scoped_projects === null ? null : (JSON.parse(row.scoped_projects) as number[]),
    },
    keyId: row.id,
    hash: row.secure_value,
    expiresAt: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
    lastUsedAt: row.last_used_at,
  };
}

/** The console session of a cookie. */
export async function findSessionPrincipal(
  db: Metadata,
  cookie: string,
  now: number,
): Promise<KnownPrincipal | undefined> {
  const session = await findSession(db, cookie, now);
  if (session === undefined) return undefined;
  return {
    principal: { kind: 'session', userId: session.userId, organizationId: session.organizationId },
    keyId: session.keyId,
    hash: keyHash(cookie),
    expiresAt: Date.parse(session.expiresAt),
    lastUsedAt: null,
  };
}

/** What `@current` means: the first project that the principal may see. */
export async function findFirstProject(db: Metadata, principal: Principal): Promise<ProjectRef | undefined> {
  const ids = allowedProjects(principal);
  const { projects } = await listProjects(db, { organizationId: principal.organizationId, ids, limit: 1 });
  return projects[0];
}

/** Null: every project of the organisation. */
export function allowedProjects(principal: Principal): readonly number[] | null {
  return principal.kind === 'key' ? principal.projectIds : null;
}
