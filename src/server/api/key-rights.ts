import { ApiError } from '../../wire/contract/errors.ts';
import { hasScope, type Scope } from '../../wire/contract/scopes.ts';
import type { Principal } from '../http/api-route.ts';
import { scopesOf } from '../http/auth-queries.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getPersonalApiKey } from '../../stores/metadata/personal-api-keys.ts';

/** Scopes, projects and expiry of a key. */
interface Rights {
  readonly scopes: readonly string[];
  /** `null` for every project. */
  readonly scopedProjects: readonly number[] | null;
  /** `null` for no expiry. */
  readonly expiresAt: string | null;
}

/**
 * A key must not grant more scopes, projects or time than it has itself, nor delete a key that has more. A session must not grant
 * more scopes than it has.
 * @throws ApiError permission_denied naming the excess
 */
export async function checkNotMoreThanOwn(
  db: Metadata,
  principal: Principal,
  wanted: Rights,
  act: 'hand out' | 'delete' = 'hand out',
): Promise<void> {
  const own = await rightsOf(db, principal);
  if (own === null || (principal.kind === 'session' && act === 'delete')) return;
  const excess = own === undefined ? 'any right' : excessOf(own, wanted);
  if (excess === undefined) return;
  const who = principal.kind === 'key' ? 'personal API key' : 'session';
  throw new ApiError('permission_denied', `A ${who} must not ${act} more than it has itself: ${excess}.`);
}

/** Returns `null` for every right, `undefined` for a key that no longer exists. */
async function rightsOf(db: Metadata, principal: Principal): Promise<Rights | null | undefined> {
  if (principal.kind === 'key') return getPersonalApiKey(db, principal.userId, principal.keyId);
  const scopes = scopesOf(principal);
  return scopes && { scopes, scopedProjects: null, expiresAt: null };
}

function excessOf(own: Rights, wanted: Rights): string | undefined {
  const scope = wanted.scopes.find((each) => !covers(own.scopes, each));
  if (scope !== undefined) return `scope '${scope}'`;
  if (own.scopedProjects !== null) {
    if (wanted.scopedProjects === null) return 'every project (scoped_teams)';
    const project = wanted.scopedProjects.find((id) => !own.scopedProjects?.includes(id));
    if (project !== undefined) return `project ${project}`;
  }
  if (own.expiresAt === null) return undefined;
  const longer = wanted.expiresAt === null || wanted.expiresAt > own.expiresAt;
  return longer ? `an expiry later than ${own.expiresAt} (expires_at)` : undefined;
}

function covers(own: readonly string[], wanted: string): boolean {
  // Sound: unknown scopes were refused before, and hasScope does not grant any other text.
  return wanted === '*' ? own.includes('*') : hasScope(own, wanted as Scope);
}

/**
 * Who manages users can sign in as one of them, with the scopes of the key, for all projects: a key with fewer rights must not do it.
 * @throws ApiError permission_denied
 */
export async function checkHasAllRights(db: Metadata, principal: Principal): Promise<void> {
  if (principal.kind !== 'key') return;
  const own = await getPersonalApiKey(db, principal.userId, principal.keyId);
  if (own !== undefined && excessOf(own, { scopes: ['*'], scopedProjects: null, expiresAt: null }) === undefined)
    return;
  throw new ApiError(
    'permission_denied',
    'Users are managed in the console, or with an API key with scope "*" for all projects and no expiry.',
  );
}
