import type { IncomingHttpHeaders } from 'node:http';
import type { ApiRoute, Principal, ProjectRef } from './api-route.ts';
import { checkScope, type Auth } from './auth.ts';
import type { ParsedBody } from './body.ts';
import { bearerKey, takeCredentials, type Credentials } from './credentials.ts';
import { checkSameOrigin } from './same-origin.ts';
import { checkRole, roleOf } from './route-role.ts';
import { throttled, type RateLimiter } from './rate-limit.ts';
import type { RouteRequest } from './route-request.ts';

/** Result of the checks before a handler. */
export interface Access {
  readonly principal: Principal;
  readonly project: ProjectRef | undefined;
  readonly credentials: Credentials | undefined;
}

export interface AccessDeps {
  readonly auth: Auth;
  /** `undefined` for no limit. */
  readonly rateLimiter: RateLimiter | undefined;
  readonly siteUrl: string;
}

/**
 * Checks in this order: principal, rate, scope, role, project. @throws ApiError of the first failed check
 * @param also receives headers for every response
 */
export async function checkAccess(
  deps: AccessDeps,
  route: ApiRoute,
  request: RouteRequest,
  also: Record<string, string>,
  body: ParsedBody | undefined,
): Promise<Access> {
  const credentials = takeCredentials(request, body);
  const principal = await deps.auth.identify(credentials, request.ip);
  if (principal.kind === 'session') checkSameOrigin(request, deps.siteUrl);
  else if (principal.kind === 'key' && deps.rateLimiter !== undefined)
    checkRate(deps.rateLimiter, principal.keyId, also);
  checkScope(principal, route.scope);
  checkRole(principal, roleOf(route));
  const projectId = (request.params as Readonly<Record<string, string | undefined>>)['project_id'];
  const project = projectId === undefined ? undefined : await deps.auth.project(principal, projectId);
  return { principal, project, credentials };
}

/** Repeats the checks for long-running responses. Throws ApiError as `checkAccess` does, and counts no request. */
export async function checkAccessAgain(
  { auth }: Pick<AccessDeps, 'auth'>,
  route: ApiRoute,
  { credentials, project }: Access,
  address: string,
): Promise<void> {
  // Not a use: an open stream must not keep a session.
  const again = credentials?.kind === 'session' ? { ...credentials, isUnattended: true } : credentials;
  const principal = await auth.identify(again, address);
  checkScope(principal, route.scope);
  checkRole(principal, roleOf(route));
  if (project !== undefined) await auth.project(principal, String(project.id));
}

function checkRate(limiter: RateLimiter, keyId: string, also: Record<string, string>): void {
  const decision = limiter.take(keyId);
  also['ratelimit-limit'] = String(decision.limit);
  also['ratelimit-remaining'] = String(decision.remaining);
  also['ratelimit-reset'] = String(decision.resetSeconds);
  if (!decision.allowed) throw throttled(decision);
}

/** Maximum size of a body that may contain a key: larger ones are only read if header, query or cookie identify the caller. */
export const unknownBodyBytesMax = 64 * 1024;

/** Whether the caller must be known before the body is read, so that a stranger's body is never read and parsed. */
export function isKnownEarly({ headers }: Pick<RouteRequest, 'headers'>): boolean {
  return bearerKey(headers.authorization) !== undefined || !hasBody(headers) || hasLargeBody(headers);
}

/** A body of unknown length counts as large. */
function hasLargeBody({ 'content-length': length }: IncomingHttpHeaders): boolean {
  return length === undefined || !(Number(length) <= unknownBodyBytesMax);
}

export function hasBody(headers: IncomingHttpHeaders): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}
