import type { IncomingHttpHeaders } from 'node:http';
import type { ApiRoute, Principal, ProjectRef } from './api-route.ts';
import { checkScope, type Auth } from './auth.ts';
import type { ParsedBody } from './body.ts';
import { bearerKey, takeCredentials, type Credentials } from './credentials.ts';
import { checkSameOrigin } from './same-origin.ts';
import { checkRole, roleOf } from './route-role.ts';
import { throttled, type RateLimiter } from './rate-limit.ts';
import type { RouteRequest } from './route-request.ts';

/** What the checks before a handler found out. */
export interface Access {
  readonly principal: Principal;
  readonly project: ProjectRef | undefined;
  readonly credentials: Credentials | undefined;
}

export interface AccessDeps {
  readonly auth: Auth;
  /** Undefined: no limit. */
  readonly rateLimiter: RateLimiter | undefined;
  readonly siteUrl: string;
}

/**
 * In this order: who asks, how often, with which scope, in which role, for which project. Throws ApiError at the first that fails.
 * @param also takes headers that go with every answer
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
  else if (deps.rateLimiter !== undefined) checkRate(deps.rateLimiter, principal.keyId, also);
  checkScope(principal, route.scope);
  checkRole(principal, roleOf(route));
  const projectId = (request.params as Readonly<Record<string, string | undefined>>)['project_id'];
  const project = projectId === undefined ? undefined : await deps.auth.project(principal, projectId);
  return { principal, project, credentials };
}

/** Whether what was found still holds: for answers that take long. Throws ApiError as `checkAccess` does; counts no request. */
export async function checkAccessAgain(
  { auth }: Pick<AccessDeps, 'auth'>,
  route: ApiRoute,
  { credentials, project }: Access,
  address: string,
): Promise<void> {
  const principal = await auth.identify(credentials, address);
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

/** Whether the caller can be known without reading the body, so that strangers get their 401 before they send 20 MB. */
export function isKnownEarly({ headers }: Pick<RouteRequest, 'headers'>): boolean {
  return bearerKey(headers.authorization) !== undefined || !hasBody(headers);
}

export function hasBody(headers: IncomingHttpHeaders): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}
