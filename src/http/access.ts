import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRoute, Principal, ProjectRef } from './api-route.ts';
import { checkScope, type Auth } from './auth.ts';
import type { ParsedBody } from './body.ts';
import { bearerKey, takeCredentials, type Credentials } from './credentials.ts';
import { checkSameOrigin } from './same-origin.ts';
import { checkRole, roleOf } from './route-role.ts';
import { throttled, type RateLimiter } from './rate-limit.ts';

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

/** In this order: who asks, how often, with which scope, in which role, for which project. Throws ApiError at the first that fails. */
export async function checkAccess(
  deps: AccessDeps,
  route: ApiRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  body: ParsedBody | undefined,
): Promise<Access> {
  const credentials = takeCredentials(request, body);
  const principal = await deps.auth.identify(credentials, request.ip);
  if (principal.kind === 'session') checkSameOrigin(request, deps.siteUrl);
  else if (deps.rateLimiter !== undefined) checkRate(deps.rateLimiter, principal.keyId, reply);
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

function checkRate(limiter: RateLimiter, keyId: string, reply: FastifyReply): void {
  const decision = limiter.take(keyId);
  reply.header('ratelimit-limit', decision.limit);
  reply.header('ratelimit-remaining', decision.remaining);
  reply.header('ratelimit-reset', decision.resetSeconds);
  if (!decision.allowed) throw throttled(decision);
}

/** Whether the caller can be known without reading the body, so that strangers get their 401 before they send 20 MB. */
export function isKnownEarly(request: FastifyRequest): boolean {
  if (bearerKey(request.headers.authorization) !== undefined) return true;
  const length = request.headers['content-length'];
  const chunked = request.headers['transfer-encoding'] !== undefined;
  return !chunked && (length === undefined || length === '0');
}
