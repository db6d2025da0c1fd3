import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { html, type Html } from '../../base/html.ts';
import { keyHash } from '../../base/ids.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getPersonalApiKey } from '../../stores/metadata/personal-api-keys.ts';
import { listProjects } from '../../stores/metadata/projects.ts';
import { createSession, deleteExpiredSessions, deleteSession, useLoginLink } from '../../stores/metadata/sessions.ts';
import { actorOf } from './actor.ts';
import type { Principal, ProjectRef } from './api-route.ts';
import type { Auth } from './auth.ts';
import type { ParsedBody } from './body.ts';
import { cookieValue, sessionCookie } from './credentials.ts';
import { issueKey } from './issue-key.ts';
import { requestOrigin } from './request-origin.ts';
import { checkSameOrigin } from './same-origin.ts';
import { createHash } from 'node:crypto';

/** The forms have one or two short fields, and anyone can send them. */
const small = { bodyLimit: 16 * 1024 };

const keySessionMs = 12 * 3_600_000;
const keyRefused = 'Signing in takes a valid personal API key with scope * and without a limit to projects.';

interface PageDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly auth: Auth;
  readonly siteUrl: string;
  /** Without it, the start page is shown. */
  readonly hasConsole: boolean;
}

/** Serves the pages that a user needs before the console: sign in by one-time link, see the projects, create a key. */
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
    // Opening the link does not use it: previews of chat programs and browsers open links too.
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

/** A session has all rights of its user, so only a key with the same rights and no expiry can start one; it ends with the key. */
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

/** The first match counts: many browsers also name others, for compatibility. */
const browsers: readonly (readonly [name: string, form: RegExp])[] = [
  ['Edge', /\bEdgA?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bVersion\/\S+ .*Safari\//],
];
const systems: readonly (readonly [name: string, form: RegExp])[] = [
  ['iOS', /\b(iPhone|iPad|iPod)\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
];

/** Returns `Firefox on Linux`, for the list of sessions; empty if the header is missing. */
export function browserName(userAgent: string | undefined): string {
  if (userAgent === undefined || userAgent === '') return '';
  const browser = firstMatch(browsers, userAgent) ?? 'Unknown browser';
  const system = firstMatch(systems, userAgent);
  return system === undefined ? browser : `${browser} on ${system}`;
}

function firstMatch(table: readonly (readonly [name: string, form: RegExp])[], text: string): string | undefined {
  return table.find(([, form]) => form.test(text))?.[0];
}

/** Styles of the start pages, small enough to be part of each page. */
const pageStyle = `
:root {
  color-scheme: light dark;
  --ink: #16202b; --soft: #5a6774; --line: #dfe4ea; --page: #f6f7f9; --card: #fff; --accent: #0b6e75;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8edf2; --soft: #9aa7b4; --line: #2c3742; --page: #11171d; --card: #19212a; --accent: #4fc3c9; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 3rem 1.25rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; letter-spacing: -.01em; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
p { margin: .5rem 0; }
.soft { color: var(--soft); }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.25rem; margin: 1.25rem 0;
}
code, pre { font: 13.5px/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre {
  background: var(--page); border: 1px solid var(--line); border-radius: 8px; padding: .8rem; margin: .6rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere;
}
code.key { user-select: all; overflow-wrap: anywhere; }
label { display: block; font-weight: 600; margin: .7rem 0 .2rem; }
input, select {
  font: inherit; color: inherit; width: 100%; padding: .5rem .6rem;
  border: 1px solid var(--line); border-radius: 8px; background: var(--page);
}
button {
  font: inherit; font-weight: 600; margin-top: .9rem; padding: .5rem 1.1rem;
  border: 0; border-radius: 8px; background: var(--accent); color: var(--card); cursor: pointer;
}
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
a { color: var(--accent); }
.notice { border-color: var(--accent); }
`;

const styleHash = createHash('sha256').update(pageStyle).digest('base64');

/** Returns a complete page that needs no other files. */
function page(title: string, content: Html): string {
  const head = html`<meta charset="utf-8" /><meta name="viewport" content="width=device-width,initial-scale=1" />
    <link rel="icon" href="data:," /><title>${title}</title>`;
  return (
    `<!doctype html><html lang="en"><head>${head.safe}<style>${pageStyle}</style></head>` +
    `<body><main>${content.safe}</main></body></html>`
  );
}

const policy = [
  "default-src 'none'",
  'img-src data:',
  `style-src 'sha256-${styleHash}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of every page: nothing from other servers, no scripts, no framing, no caching. */
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not no-referrer: browsers would then send `Origin: null` with our own forms.
  'referrer-policy': 'same-origin',
} as const;

/** Returns the start page without a session. */
function welcomePage(): Html {
  return html`<h1>Millrace</h1>
    <p class="soft">This event pipeline is running.</p>
    <section>
      <h2>Sign in</h2>
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

function messagePage(title: string, text: string): Html {
  return html`<h1>${title}</h1>
    <section><p>${text}</p></section>
    <p><a href="/">Back</a></p>`;
}
