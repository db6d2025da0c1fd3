import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import type { Html } from '../../base/html.ts';
import { keyHash } from '../../base/ids.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getPersonalApiKey } from '../../stores/metadata/personal-api-keys.ts';
import { listProjects } from '../../stores/metadata/projects.ts';
import { createSession, deleteExpiredSessions, deleteSession, useLoginLink } from '../../stores/metadata/sessions.ts';
import { actorOf } from './actor.ts';
import type { Principal } from './api-route.ts';
import type { Auth } from './auth.ts';
import { browserName } from './browser-name.ts';
import type { ParsedBody } from './body.ts';
import { cookieValue, sessionCookie } from './credentials.ts';
import { issueKey } from './issue-key.ts';
import { page, pageHeaders } from './page.ts';
import { requestOrigin } from './request-origin.ts';
import { checkSameOrigin } from './same-origin.ts';
import { loginButton, loginFailed, messagePage, newKeyPage, startPage, welcomePage } from './start-page.ts';

/** Their forms have one or two short fields, and anybody may send them. */
const small = { bodyLimit: 16 * 1024 };

const keySessionMs = 12 * 3_600_000;
const keyRefused = 'Signing in takes a valid personal API key with scope * and without a limit to projects.';

interface PageDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly auth: Auth;
  readonly siteUrl: string;
  /** Without it, the start page is what there is to see. */
  readonly hasConsole: boolean;
}

/** The few pages that a person needs before the console: sign in by one-time link, see the projects, make a key. */
export function servePages(app: FastifyInstance, deps: PageDeps): void {
  const { db, clock, auth, siteUrl, hasConsole } = deps;
  app.get('/', async (request, reply) => {
    const principal = await sessionOf(auth, request);
    if (principal === undefined) return sendPage(reply, 200, 'Millrace', welcomePage());
    if (hasConsole) return reply.headers(pageHeaders).redirect('/console/', 303);
    const { projects } = await listProjects(db, { organizationId: principal.organizationId, limit: 100 });
    return sendPage(reply, 200, 'Millrace', startPage(projects, requestOrigin(request, siteUrl)));
  });
  app.get('/login', async (request, reply) => {
    // Opening the link spends nothing: previews of chat programs and browsers open links too.
    const token = fieldOf(request.query, 'token');
    if (token === '') return sendPage(reply, 400, 'Sign in', loginFailed());
    return sendPage(reply, 200, 'Sign in', loginButton(token));
  });
  app.post('/login', small, async (request, reply) => {
    checkSameOrigin(request, siteUrl);
    const key = bodyField(request, 'key').trim();
    const owner =
      key === '' ? await linkOwner(deps, bodyField(request, 'token')) : await keyOwner(deps, key, request.ip);
    if (owner === undefined) {
      return sendPage(reply, 403, 'Sign in', key === '' ? loginFailed() : messagePage('Not signed in', keyRefused));
    }
    const now = clock.now();
    const browser = browserName(request.headers['user-agent']);
    const { value, expiresAt } = await createSession(db, { ...owner, now, browser, address: request.ip });
    await deleteExpiredSessions(db, now);
    const seconds = Math.floor((Date.parse(expiresAt) - now) / 1000);
    return redirectHome(reply, sessionCookieHeader(request, siteUrl, value, seconds));
  });
  app.post('/logout', small, async (request, reply) => {
    checkSameOrigin(request, siteUrl);
    const cookie = cookieValue(request.headers.cookie, sessionCookie);
    if (cookie !== undefined) {
      await deleteSession(db, cookie);
      auth.forgetSession(cookie);
    }
    return redirectHome(reply, sessionCookieHeader(request, siteUrl, '', 0));
  });
  app.post('/keys', small, async (request, reply) => {
    const principal = await sessionOf(auth, request);
    if (principal === undefined) return sendPage(reply, 401, 'Millrace', welcomePage());
    checkSameOrigin(request, siteUrl);
    return createKeyFromForm(deps, principal, request, reply);
  });
}

interface SessionOwner {
  readonly userId: number;
  readonly lifetimeMs?: number;
  readonly keyHash?: string;
}

async function linkOwner({ db, clock }: PageDeps, token: string): Promise<SessionOwner | undefined> {
  const userId = await useLoginLink(db, token, clock.now());
  return userId === undefined ? undefined : { userId };
}

/** A session may do all that its user may, so only a key that may as well, for ever, can start one; it ends with the key. */
async function keyOwner({ auth, db }: PageDeps, key: string, address: string): Promise<SessionOwner | undefined> {
  try {
    const principal = await auth.identify({ kind: 'key', key, place: 'body' }, address);
    if (principal.kind !== 'key' || !principal.scopes.includes('*') || principal.projectIds !== null) return undefined;
    const stored = await getPersonalApiKey(db, principal.userId, principal.keyId);
    // A session may make keys without an end: a key with one must not be a way to them.
    if (stored === undefined || stored.expiresAt !== null) return undefined;
    return { userId: principal.userId, lifetimeMs: keySessionMs, keyHash: keyHash(key) };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'authentication_failed') return undefined;
    throw error;
  }
}

async function createKeyFromForm(
  { db, clock, siteUrl }: PageDeps,
  principal: Principal,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const label = bodyField(request, 'label').trim();
  const scopes = bodyField(request, 'access') === 'all' ? ['*'] : ['plugin:read', 'plugin:write', 'project:read'];
  try {
    const actor = actorOf({ principal, requestId: request.id });
    const { value } = await issueKey(db, actor, { userId: principal.userId, label, scopes }, clock.now());
    return sendPage(reply, 201, 'Your new key', newKeyPage(value, requestOrigin(request, siteUrl)));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    return sendPage(reply, 400, 'No key made', messagePage('No key made', error.detail));
  }
}

async function sessionOf(auth: Auth, request: FastifyRequest): Promise<Principal | undefined> {
  const cookie = cookieValue(request.headers.cookie, sessionCookie);
  if (cookie === undefined) return undefined;
  try {
    return await auth.identify({ kind: 'session', cookie }, request.ip);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_authenticated') return undefined;
    throw error;
  }
}

function sessionCookieHeader(request: FastifyRequest, siteUrl: string, value: string, maxAgeSeconds: number): string {
  const secure = requestOrigin(request, siteUrl).startsWith('https:') ? '; Secure' : '';
  return `${sessionCookie}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`;
}

function redirectHome(reply: FastifyReply, cookie: string): FastifyReply {
  return reply.header('set-cookie', cookie).headers(pageHeaders).redirect('/', 303);
}

function sendPage(reply: FastifyReply, status: number, title: string, content: Html): FastifyReply {
  return reply.code(status).headers(pageHeaders).send(page(title, content));
}

function bodyField(request: FastifyRequest, name: string): string {
  return fieldOf((request.body as ParsedBody | undefined)?.value, name);
}

function fieldOf(container: unknown, name: string): string {
  if (typeof container !== 'object' || container === null) return '';
  const value: unknown = (container as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : '';
}
