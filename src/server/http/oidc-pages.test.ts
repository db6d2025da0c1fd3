import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { OutboundError } from '../../plugins/outbound/outbound.ts';
import { loadSettings } from '../config/load.ts';
import { createOidcSignIn } from '../sign-in/oidc-sign-in.ts';
import { readOidcSettings } from '../sign-in/oidc-settings.ts';
import { createProvider } from '../sign-in/provider.ts';

const issuer = 'https://id.example.com';
const discovery = {
  issuer,
  authorization_endpoint: `${issuer}/auth`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
};

let app: TestApp;
/** Requests to the provider, which is down until a test sets it up. */
let requests: string[];
let isDown: boolean;

beforeEach(async () => {
  requests = [];
  isDown = false;
  const env = { MILLRACE_OIDC_ISSUER: issuer, MILLRACE_OIDC_CLIENT_ID: 'millrace', MILLRACE_OIDC_NAME: '<ID>' };
  const settings = readOidcSettings(loadSettings({ env }).settings);
  if (settings === undefined) throw new Error('expected settings');
  app = await startTestApp(() => [], {
    settings: { siteUrl: 'https://events.example.com' },
    oidc: (db, { clock, auth }) => {
      const fetch = async ({ url }: { readonly url: string }) => {
        requests.push(url);
        if (isDown) throw new OutboundError('network', `the request to ${issuer} failed: the connection was refused`);
        const body = Buffer.from(JSON.stringify(discovery));
        return { status: 200, statusText: 'OK', headers: { 'content-type': 'application/json' }, body, url };
      };
      const provider = createProvider(settings, { fetch, clock });
      return createOidcSignIn(settings, { db, clock, provider, forgetUser: auth.forgetUser });
    },
  });
});
afterEach(() => app[Symbol.asyncDispose]());

const headers = { host: 'events.example.com' };
const start = (query = '') => app.inject({ url: `/login/oidc${query}`, headers });

describe('the start of a sign-in', () => {
  it('redirects with state, nonce and PKCE, and stores only hashes', async () => {
    const answer = await start();
    expect(answer.statusCode).toBe(303);
    const url = new URL(String(answer.headers['location']));
    const sent = Object.fromEntries(url.searchParams);
    expect(url.origin + url.pathname).toBe(`${issuer}/auth`);
    expect(sent).toMatchObject({
      client_id: 'millrace',
      response_type: 'code',
      scope: 'openid email profile',
      redirect_uri: 'https://events.example.com/login/oidc/callback',
      code_challenge_method: 'S256',
    });
    expect(answer.headers['set-cookie']).toMatch(
      /^millrace_oidc=[\w-]{43}; Path=\/login\/oidc; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/,
    );
    const stored = JSON.stringify(await app.db.selectFrom('oidc_attempts').selectAll().execute());
    for (const secret of [sent['state'], sent['nonce'], sent['code_challenge']]) expect(stored).not.toContain(secret);
  });

  it('lets the user choose another account after a refusal', async () => {
    const { location } = (await start('?account=other')).headers;
    expect(new URL(String(location)).searchParams.get('prompt')).toBe('login');
  });

  it.each([
    ['/console/projects/1/events?q=1', '/console/projects/1/events?q=1'],
    ['https://evil.example/console/', '/'],
    ['//evil.example/console/', '/'],
    ['/\\evil.example/console/', '/'],
    ['/console/../logout', '/'],
    ['/api/users/', '/'],
    [`/console/${'a'.repeat(500)}`, '/'],
  ])('returns to pages of the console only: %s leads to %s', async (path, stored) => {
    await start(`?return_to=${encodeURIComponent(path)}`);
    const row = await app.db.selectFrom('oidc_attempts').select('return_to').executeTakeFirst();
    expect(row?.return_to).toBe(stored);
  });

  it('a provider that is down costs a page and two attempts; the next sign-in tries again', async () => {
    isDown = true;
    const answer = await start();
    expect([answer.statusCode, requests.length]).toEqual([503, 2]);
    expect(answer.body).toContain('oidc_unreachable');
    expect(answer.body).toContain('&lt;ID&gt; could not be reached');
    expect(await app.db.selectFrom('oidc_attempts').selectAll().execute()).toEqual([]);
    expect(app.logged).toContainEqual(
      expect.objectContaining({ code: 'oidc_unreachable', reason: expect.stringContaining('refused'), level: 'warn' }),
    );
    isDown = false;
    expect((await start()).statusCode).toBe(303);
    await start();
    expect(requests.length).toBe(3);
    app.clock.advance(3_600_001);
    await start();
    expect(requests.length).toBe(4);
  });

  it('an address that starts too many is refused for a minute', async () => {
    const statuses = [];
    for (let attempt = 0; attempt < 122; attempt += 1) statuses.push((await start()).statusCode);
    expect(statuses.slice(118)).toEqual([303, 303, 429, 429]);
    app.clock.advance(60_001);
    expect((await start()).statusCode).toBe(303);
  });
});

describe('the callback', () => {
  it.each(['', '?state=unknown&code=x', '?state=a&state=b&code=x'])(
    'without a known state is refused: %s',
    async (query) => {
      const answer = await app.inject({ url: `/login/oidc/callback${query}`, headers });
      expect([answer.statusCode, answer.headers['set-cookie']]).toEqual([400, undefined]);
      expect(answer.body).toContain('oidc_state_invalid');
      expect(requests).toEqual([]);
    },
  );

  it('ten minutes after the start is refused', async () => {
    const started = await start();
    const state = new URL(String(started.headers['location'])).searchParams.get('state');
    const cookie = String(started.headers['set-cookie']).split(';')[0] ?? '';
    app.clock.advance(10 * 60_000);
    const url = `/login/oidc/callback?code=x&state=${state}`;
    expect((await app.inject({ url, headers: { ...headers, cookie } })).statusCode).toBe(400);
  });
});

describe('without a provider', () => {
  it('the paths say so, and the start page has no button', async () => {
    await using plain = await startTestApp(() => []);
    const answer = await plain.inject({ url: '/login/oidc' });
    expect([answer.statusCode, answer.body.includes('oidc_not_configured')]).toEqual([404, true]);
    expect((await plain.inject({ url: '/' })).body).not.toContain('Sign in with');
  });
});
