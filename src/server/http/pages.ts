import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { html, nothing, type Html } from '../../base/html.ts';
import { keyHash } from '../../base/ids.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getPersonalApiKey } from '../../stores/metadata/personal-api-keys.ts';
import { listProjects } from '../../stores/metadata/projects.ts';
import { recordUser } from '../../stores/metadata/record-user.ts';
import { getUser } from '../../stores/metadata/users.ts';
import { deleteSession, useLoginLink, type SessionPolicy } from '../../stores/metadata/sessions.ts';
import type { OidcSignIn } from '../sign-in/oidc-sign-in.ts';
import type { Log } from '../telemetry/log.ts';
import { actorOf } from './actor.ts';
import type { Principal, ProjectRef } from './api-route.ts';
import type { Auth } from './auth.ts';
import type { ParsedBody } from './body.ts';
import { cookieValue, sessionCookie } from './credentials.ts';
import { latestExpiry } from './key-expiry.ts';
import { issueKey } from './issue-key.ts';
import { endProviderSession, serveOidcPages, signInButton } from './oidc-pages.ts';
import { messagePage, pageHeaders, sendPage } from './page-layout.ts';
import { requestOrigin } from './request-origin.ts';
import { checkSameOrigin } from './same-origin.ts';
import { sessionCookieHeader, startSession, type SessionOwner } from './start-session.ts';

/** The forms have one or two short fields, and anyone can send them. */
const small = { bodyLimit: 16 * 1024 };

const keySessionMs = 12 * 3_600_000;
const keyRefused = 'Signing in takes a valid personal API key with scope * and without a limit to projects.';

interface PageDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly auth: Auth;
  readonly siteUrl: string;
  readonly sessionPolicy: SessionPolicy;
  /** Days within which new keys must expire; `undefined` for no limit. */
  readonly keyDaysMax: number | undefined;
  /** Without it, the start page is shown. */
  readonly hasConsole: boolean;
  readonly log: Log;
  /** `undefined` if no provider is set up. */
  readonly oidc: OidcSignIn | undefined;
}

/** Serves the pages that a user needs before the console: sign in by one-time link, see the projects, create a key. */
export function servePages(app: FastifyInstance, deps: PageDeps): void {
  const { db, auth, siteUrl, hasConsole, oidc } = deps;
  app.get('/', async (request, reply) => {
    const principal = await sessionOf(auth, request);
    if (principal === undefined) return sendPage(reply, 200, 'Millrace', welcomePage(oidc));
    if (hasConsole) return reply.headers(pageHeaders).redirect('/console/', 303);
    const { projects } = await listProjects(db, { organizationId: principal.organizationId, limit: 100 });
    return sendPage(reply, 200, 'Millrace', startPage(projects, requestOrigin(request, siteUrl)));
  });
  app.get('/login', async (request, reply) => {
    // Opening the link does not use it: previews of chat programs and browsers open links too.
    const token = fieldOf(request.query, 'token');
    if (token === '') return sendPage(reply, 400, 'Sign in', loginFailed());
    return sendPage(reply, 200, 'Sign in', loginButton(token));
  });
  app.post('/login', small, async (request, reply) => {
    checkSameOrigin(request, siteUrl);
    const key = bodyField(request, 'key').trim();
    const owner =
      key === ''
        ? await linkOwner(deps, bodyField(request, 'token'), request.id)
        : await keyOwner(deps, key, request.ip);
    if (owner === undefined) {
      return sendPage(reply, 403, 'Sign in', key === '' ? loginFailed() : messagePage('Not signed in', keyRefused));
    }
    return redirectHome(reply, await startSession(deps, request, owner));
  });
  app.post('/logout', small, async (request, reply) => {
    checkSameOrigin(request, siteUrl);
    const cookie = cookieValue(request.headers.cookie, sessionCookie);
    const ended = cookie === undefined ? undefined : await deleteSession(db, cookie);
    if (cookie !== undefined) auth.forgetSession(cookie);
    const removing = sessionCookieHeader(request, siteUrl, '', 0);
    if (ended !== undefined && oidc !== undefined)
      return endProviderSession(deps, oidc, ended, { request, reply, removing });
    return redirectHome(reply, removing);
  });
  serveOidcPages(app, deps);
  app.post('/keys', small, async (request, reply) => {
    const principal = await sessionOf(auth, request);
    if (principal === undefined) return sendPage(reply, 401, 'Millrace', welcomePage(oidc));
    checkSameOrigin(request, siteUrl);
    return createKeyFromForm(deps, principal, request, reply);
  });
}

/** The use of a link is recorded: where users sign in with a provider, it is the exception. */
async function linkOwner({ db, clock }: PageDeps, token: string, requestId: string): Promise<SessionOwner | undefined> {
  const now = clock.now();
  return db.transaction().execute(async (tx) => {
    const found = await useLoginLink(tx, token, now);
    const user = found && (await getUser(tx, found.userId));
    if (user === undefined) return undefined;
    const actor = { organizationId: user.organizationId, userId: user.id, keyId: null, requestId };
    await recordUser(tx, actor, { user, before: user, after: user, activity: 'signed_in_with_link', now });
    return found;
  });
}

/** A session has the scopes of its key. It can create keys, so only one with `*`, all projects and no expiry can open it; it ends with the key. */
async function keyOwner({ auth, db }: PageDeps, key: string, address: string): Promise<SessionOwner | undefined> {
  try {
    const principal = await auth.identify({ kind: 'key', key, place: 'body' }, address);
    if (principal.kind !== 'key' || !principal.scopes.includes('*') || principal.projectIds !== null) return undefined;
    const stored = await getPersonalApiKey(db, principal.userId, principal.keyId);
    // A session can create keys without an expiry: a key with one must not lead to them.
    if (stored === undefined || stored.expiresAt !== null) return undefined;
    return { userId: principal.userId, lifetimeMs: keySessionMs, keyHash: keyHash(key) };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'authentication_failed') return undefined;
    throw error;
  }
}

async function createKeyFromForm(
  { db, clock, siteUrl, keyDaysMax }: PageDeps,
  principal: Principal,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const label = bodyField(request, 'label').trim();
  const scopes = bodyField(request, 'access') === 'all' ? ['*'] : ['plugin:read', 'plugin:write', 'project:read'];
  try {
    const actor = actorOf({ principal, requestId: request.id });
    const expiresAt = latestExpiry(keyDaysMax, clock.now()) ?? null;
    const input = { userId: principal.userId, label, scopes, expiresAt };
    const { value } = await issueKey(db, actor, input, clock.now());
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

function redirectHome(reply: FastifyReply, cookie: string): FastifyReply {
  return reply.header('set-cookie', cookie).headers(pageHeaders).redirect('/', 303);
}

function bodyField(request: FastifyRequest, name: string): string {
  return fieldOf((request.body as ParsedBody | undefined)?.value, name);
}

function fieldOf(container: unknown, name: string): string {
  if (typeof container !== 'object' || container === null) return '';
  const value: unknown = (container as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : '';
}

/** Returns the start page without a session. */
function welcomePage(oidc: OidcSignIn | undefined): Html {
  return html`<h1>Millrace</h1>
    <p class="soft">This event pipeline is running.</p>
    ${oidc === undefined ? nothing : html`<section class="notice">${signInButton(oidc.name)}</section>`}
    <section>
      <h2>${oidc === undefined ? 'Sign in' : 'Other ways to sign in'}</h2>
      <p>
        Open a one-time link in this browser: the first start printed one, an admin can make one for you, and on the
        machine that holds the data directory this prints a new one:
      </p>
      <pre><code>npx millrace login</code></pre>
      ${keyForm()}
    </section>
    <p><a href="/api/docs">API reference</a></p>`;
}

/** Returns the form for signing in without a link. */
function keyForm(): Html {
  return html`<p>
      A personal API key with scope <code>*</code> signs its user in as well, for 12 hours. To make one there:
    </p>
    <pre><code>npx millrace keys create</code></pre>
    <form method="post" action="/login">
      <label for="key">Personal API key</label>
      <input id="key" name="key" type="password" autocomplete="off" required placeholder="phx_…" />
      <button type="submit">Sign in</button>
    </form>`;
}

/** Returns the start page with a session: projects with their keys, a first event, a form for a personal key. */
function startPage(projects: readonly ProjectRef[], origin: string): Html {
  return html`<h1>Millrace</h1>
    <p class="soft">Your projects and what you need to use them.</p>
    <section class="notice">
      <p>The console is not built here. In the folder of the program:</p>
      <pre><code>npm ci && node tools/build-console.js</code></pre>
      <p>Then start the service again.</p>
    </section>
    ${projects.map((project) => projectCard(project, origin))}
    <section>
      <h2>New personal API key</h2>
      <p class="soft">For the management API and the command line. It is shown once.</p>
      <form method="post" action="/keys">
        <label for="label">What it is for</label>
        <input id="label" name="label" maxlength="40" required placeholder="My laptop" />
        <label for="access">What it may do</label>
        <select id="access" name="access">
          <option value="plugins">Read and change plugin configs</option>
          <option value="all">Everything in the organisation</option>
        </select>
        <button type="submit">Create key</button>
      </form>
    </section>
    <p><a href="/api/docs">API reference</a></p>
    <form method="post" action="/logout"><button type="submit">Sign out</button></form>`;
}

function projectCard(project: ProjectRef, origin: string): Html {
  const event = JSON.stringify({
    api_key: project.apiToken,
    batch: [{ event: 'first event', distinct_id: 'me', properties: {} }],
  });
  const command = `curl ${origin}/batch/ -H 'Content-Type: application/json' -d '${event}'`;
  return html`<section>
    <h2>${project.name}</h2>
    <p class="soft">Project ${project.id} · ${project.timezone}</p>
    <p>Project key: <code class="key">${project.apiToken}</code></p>
    <p>Send a first event:</p>
    <pre><code>${command}</code></pre>
  </section>`;
}

/** Returns the only page that ever shows the key. */
function newKeyPage(value: string, origin: string): Html {
  return html`<h1>Your new key</h1>
    <section class="notice">
      <p>Copy it now: it is not shown again.</p>
      <pre><code class="key">${value}</code></pre>
      <p>Try it:</p>
      <pre><code>curl ${origin}/api/projects/ -H 'Authorization: Bearer ${value}'</code></pre>
    </section>
    <p><a href="/">Back</a></p>`;
}

/** Returns the page of a one-time link: only the button uses it. */
function loginButton(token: string): Html {
  return html`<h1>Sign in to Millrace</h1>
    <section>
      <p>This link works once.</p>
      <form method="post" action="/login">
        <input type="hidden" name="token" value="${token}" />
        <button type="submit">Sign in</button>
      </form>
    </section>`;
}

function loginFailed(): Html {
  return html`<h1>This link does not work any more</h1>
    <section>
      <p>
        It has been used, its time has passed, or the user may not come in any more. Links work once. Ask an admin for
        another one, or, on the machine that holds the data directory:
      </p>
      <pre><code>npx millrace login</code></pre>
      ${keyForm()}
    </section>
    <p><a href="/">Start page</a></p>`;
}
