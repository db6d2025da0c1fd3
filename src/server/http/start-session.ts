import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  createSession,
  deleteExpiredSessions,
  type OidcSession,
  type SessionPolicy,
} from '../../stores/metadata/sessions.ts';
import { browserName } from './browser-name.ts';
import { sessionCookie } from './credentials.ts';
import { requestOrigin } from './request-origin.ts';

export interface SessionOwner {
  readonly userId: number;
  readonly scopes?: readonly string[] | null;
  readonly lifetimeMs?: number;
  readonly keyHash?: string;
  readonly oidc?: OidcSession;
}

interface SessionDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly siteUrl: string;
  readonly sessionPolicy: SessionPolicy;
}

/** Creates a session for the browser of the request and returns the header that sets its cookie. */
export async function startSession(
  { db, clock, siteUrl, sessionPolicy: policy }: SessionDeps,
  request: FastifyRequest,
  owner: SessionOwner,
): Promise<string> {
  const now = clock.now();
  const browser = browserName(request.headers['user-agent']);
  const { value, expiresAt } = await createSession(db, { ...owner, now, browser, address: request.ip, policy });
  await deleteExpiredSessions(db, now);
  return sessionCookieHeader(request, siteUrl, value, Math.floor((Date.parse(expiresAt) - now) / 1000));
}

/** An age of 0 removes the cookie. */
export function sessionCookieHeader(
  request: FastifyRequest,
  siteUrl: string,
  value: string,
  maxAgeSeconds: number,
): string {
  const secure = requestOrigin(request, siteUrl).startsWith('https:') ? '; Secure' : '';
  return `${sessionCookie}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`;
}
