import { ApiError } from '../../wire/contract/errors.ts';
import { hasRole, type Role } from '../../wire/contract/roles.ts';
import type { ApiRoute, Principal } from './api-route.ts';

/** Scopes of what belongs to the organisation as a whole. */
const adminScopes: ReadonlySet<string> = new Set(['organization:write', 'user:write']);

/**
 * The lowest role that may use a route, as `role` declares it; else reading takes a viewer, changing what belongs to the
 * organisation an admin, and everything else an editor.
 */
export function roleOf({ role, scope, method }: Pick<ApiRoute, 'role' | 'scope' | 'method'>): Role {
  if (role !== undefined) return role;
  if (adminScopes.has(scope)) return 'admin';
  return method === 'GET' && !scope.endsWith(':write') ? 'viewer' : 'editor';
}

/** @throws ApiError permission_denied naming both roles */
export function checkRole({ role }: Principal, needed: Role): void {
  if (hasRole(role, needed)) return;
  const detail = `This takes a user with the role '${needed}', and yours is '${role}'. An admin of the organisation can change it.`;
  throw new ApiError('permission_denied', detail);
}
