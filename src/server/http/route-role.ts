import { ApiError } from '../../wire/contract/errors.ts';
import { hasRole, type Role } from '../../wire/contract/roles.ts';
import type { ApiRoute, Principal } from './api-route.ts';

/** Scopes of the organisation as a whole, and of erasing, which concerns requests of persons and cannot be undone. */
const adminScopes: ReadonlySet<string> = new Set(['organization:write', 'user:write', 'erasure:read', 'erasure:write']);

/**
 * Returns the lowest role that may use a route: its `role` if declared; otherwise an admin for changes of the organisation and for
 * erasures, a viewer for other reads, and an editor for everything else.
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
