import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { html, nothing, type Html } from '../../base/html.ts';
import { minuteMs } from '../../base/time.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { oidcAttemptMs } from '../../stores/metadata/oidc-attempts.ts';
import type { OidcSession, SessionPolicy } from '../../stores/metadata/sessions.ts';
import { signInErrors } from '../../wire/contract/errors.ts';
import { signInPath } from '../../wire/contract/sign-in.ts';
import { callbackPath, type OidcSignIn } from '../sign-in/oidc-sign-in.ts';
import { SignInError } from '../sign-in/sign-in-error.ts';
import type { Log } from '../telemetry/log.ts';
import { cookieValue } from './credentials.ts';
import { pageHeaders, sendPage } from './page-layout.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';
import { requestOrigin } from './request-origin.ts';
import { startSession } from './start-session.ts';

export interface OidcPageDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly log: Log;
  readonly siteUrl: string;
  readonly sessionPolicy: SessionPolicy;
  readonly oidc: OidcSignIn | undefined;
}

const browserCookie = 'millrace_oidc';
/** Per address; a whole office may have one, and a sign-in takes two requests. */
const windows = [{ limit: 120, ms: minuteMs }];
const returnToCharsMax = 500;

/** Serves the two ends of a sign-in with the OpenID Connect provider. Every fault is a page that says what to do next. */
export function serveOidcPages(app: FastifyInstance, deps: OidcPageDeps): void {
  const { log, oidc } = deps;
  const limiter = createRateLimiter(windows, deps.clock);
  const serve = (path: string, answer: (oidc: OidcSignIn, ...how: Exchange) => Promise<FastifyReply>): void => {
    app.get(path, async (request, reply) => {
      try {
        return await answer(allowed(oidc, limiter, request), request, reply);
      } catch (error) {
        if (!(error instanceof SignInError)) throw error;
        const { code, reason } = error;
        log.warn({ code, reason, requestId: request.id }, 'sign-in refused');
        return sendPage(reply, error.status, 'Not signed in', refusedPage(error, oidc?.name, request.id));
      }
    });
  };
  serve(signInPath, (signIn, request, reply) => startSignIn(deps, signIn, request, reply));
  serve(callbackPath, (signIn, request, reply) => finishSignIn(deps, signIn, request, reply));
}

type Exchange = readonly [request: FastifyRequest, reply: FastifyReply];

/** @throws SignInError oidc_not_configured, oidc_throttled */
function allowed(oidc: OidcSignIn | undefined, limiter: RateLimiter, request: FastifyRequest): OidcSignIn {
  if (oidc === undefined) {
    throw new SignInError('oidc_not_configured', 'The operator sets it up with MILLRACE_OIDC_ISSUER.');
  }
  if (!limiter.take(request.ip).allowed) {
    throw new SignInError('oidc_throttled', 'Too many sign-ins came from your address. Try again in a minute.');
  }
  return oidc;
}

async function startSignIn(
  { siteUrl }: OidcPageDeps,
  oidc: OidcSignIn,
  ...[request, reply]: Exchange
): Promise<FastifyReply> {
  const origin = requestOrigin(request, siteUrl);
  const { return_to: returnTo, account } = request.query as Readonly<Record<string, unknown>>;
  const { url, browser } = await oidc.start({
    browser: cookieValue(request.headers.cookie, browserCookie),
    origin,
    returnTo: localPath(returnTo),
    selectsAccount: account === 'other',
  });
  const secure = origin.startsWith('https:') ? '; Secure' : '';
  const cookie = `${browserCookie}=${browser}; Path=${signInPath}; HttpOnly; SameSite=Lax; Max-Age=${oidcAttemptMs / 1000}${secure}`;
  return reply.header('set-cookie', cookie).headers(pageHeaders).redirect(url, 303);
}

async function finishSignIn(
  deps: OidcPageDeps,
  oidc: OidcSignIn,
  ...[request, reply]: Exchange
): Promise<FastifyReply> {
  const { returnTo, ...owner } = await oidc.finish({
    browser: cookieValue(request.headers.cookie, browserCookie),
    callback: new URL(request.url, requestOrigin(request, deps.siteUrl)),
    requestId: request.id,
  });
  const cookie = await startSession(deps, request, owner);
  return reply.header('set-cookie', cookie).headers(pageHeaders).redirect(returnTo, 303);
}

/** Returns a path of the console; the start page for everything else. */
function localPath(path: unknown): string {
  if (typeof path !== 'string' || path.length > returnToCharsMax) return '/';
  const here = 'http://here.invalid';
  const url = URL.parse(path, here);
  return url?.origin === here && url.pathname.startsWith('/console/') ? url.pathname + url.search : '/';
}

/** Answers a sign-out: with the address to open for programs that expect JSON, with a page that opens it for browsers. */
export async function endProviderSession(
  { siteUrl, log }: OidcPageDeps,
  oidc: OidcSignIn,
  session: OidcSession,
  how: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly removing: string },
): Promise<FastifyReply> {
  const { request, reply, removing } = how;
  const url = await oidc
    .endSessionUrl(session, `${requestOrigin(request, siteUrl)}/`)
    .catch((error: unknown) => notEnded(error, log, request.id));
  reply.header('set-cookie', removing);
  if (request.headers.accept?.includes('application/json') === true) {
    return reply.header('cache-control', 'no-store').send({ end_session_url: url ?? null });
  }
  if (url === undefined) return reply.headers(pageHeaders).redirect('/', 303);
  // Not a redirect: form-action of the page that sent the form would refuse it.
  reply.header('refresh', `0; url=${url}`);
  return sendPage(reply, 200, 'Signed out', signedOutPage(oidc.name, url));
}

/** The session here has ended already; that of the provider ends by its own rules. */
function notEnded(error: unknown, log: Log, requestId: string): undefined {
  if (!(error instanceof SignInError)) throw error;
  log.warn({ code: error.code, reason: error.reason, requestId }, 'session at the provider not ended');
}

/** Returns the button of the sign-in pages. */
export function signInButton(name: string): Html {
  return html`<a class="button" href="${signInPath}">Sign in with ${name}</a>`;
}

function signedOutPage(name: string, url: string): Html {
  return html`<h1>Signed out of Millrace</h1>
    <section>
      <p>You are still signed in at ${name}.</p>
      <p><a class="button" href="${url}">Sign out there as well</a></p>
    </section>
    <p><a href="/">Start page</a></p>`;
}

function refusedPage({ code, detail }: SignInError, name: string | undefined, requestId: string): Html {
  const { title, retry } = signInErrors[code];
  const button =
    retry === 'none' || name === undefined
      ? nothing
      : retry === 'same'
        ? html`<p>${signInButton(name)}</p>`
        : html`<p><a class="button" href="${signInPath}?account=other">Sign in with another account</a></p>`;
  return html`<h1>${title}</h1>
    <section>
      <p>${detail}</p>
      ${button}
      <p class="soft">Error <code>${code}</code>, request <code>${requestId}</code></p>
    </section>
    <p><a href="/">Other ways to sign in</a></p>`;
}
