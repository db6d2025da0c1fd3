/**
 * Signing in with an OpenID Connect provider. Real: the service, the provider on loopback, and Chromium, without which these tests skip.
 */
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { oidcClient, startOidcProvider, type OidcProvider } from '../support/oidc-provider.ts';
import { apiGet, freePort, personalKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

interface UserRecord {
  readonly id: number;
  readonly email: string;
  readonly first_name: string;
  readonly role: string;
  readonly sessions: number;
}

describe.skipIf(!chromiumPath)('signing in with a provider', () => {
  const cleanup = new AsyncDisposableStack();
  let server: TestServer;
  let provider: OidcProvider;
  let console: ConsoleUnderTest;
  let page: Page;

  beforeAll(async () => {
    const dataDir = cleanup.use(await tempDataDir());
    const port = await freePort();
    provider = cleanup.use(await startOidcProvider(`http://127.0.0.1:${port}`));
    server = await startServer(dataDir.path, {
      MILLRACE_PORT: String(port),
      MILLRACE_OIDC_ISSUER: provider.issuer,
      MILLRACE_OIDC_CLIENT_ID: oidcClient.id,
      MILLRACE_OIDC_CLIENT_SECRET: oidcClient.secret,
      MILLRACE_OIDC_SCOPES: 'openid email profile groups',
      MILLRACE_OIDC_ALLOWED_DOMAINS: 'example.com',
      MILLRACE_OIDC_ROLES: '/analytics/admins=admin, /analytics/editors=editor, /analytics=viewer',
      MILLRACE_OIDC_NAME: 'Example ID',
      MILLRACE_SESSION_HOURS_MAX: '12',
    });
    cleanup.defer(async () => void (await server.terminate()));
    console = cleanup.use(await startConsole({ server, signedOut: true }));
    ({ page } = console);
  });
  afterAll(() => cleanup.disposeAsync());

  beforeEach(async () => {
    await console.context.clearCookies();
    Object.assign(provider, { tokenClockOffMs: 0, claimsInIdToken: true });
    console.problems();
  });

  /** A new account of the provider, with its login. */
  const account = (groups: readonly string[], more: { email?: string; email_verified?: boolean } = {}): string => {
    const login = `u${randomUUID().slice(0, 8)}`;
    provider.accounts.set(login, {
      email: `${login}@example.com`,
      email_verified: true,
      name: `Name of ${login}`,
      groups,
      ...more,
    });
    return login;
  };
  const regroup = (login: string, groups: readonly string[]): void => {
    const known = provider.accounts.get(login);
    if (known !== undefined) provider.accounts.set(login, { ...known, groups });
  };
  const atProvider = async (login: string, tab = page): Promise<void> => {
    await tab.locator('input[name=login]').fill(login);
    await tab.locator('input[name=password]').fill('any');
    await tab.getByRole('button', { name: 'Sign-in' }).click();
  };
  /** Lets the page believe that time has passed, and that the user returns to its tab: it then loads what is no longer fresh. */
  const backAfter = (ms: number): Promise<void> =>
    page.evaluate<void>(
      `{ const { now } = Date; Date.now = () => now() + ${ms}; dispatchEvent(new Event('visibilitychange')); }`,
    );
  const signIn = async (login: string): Promise<void> => {
    await page.goto(`${server.url}/login/oidc`);
    await atProvider(login);
  };
  const arrived = (): Promise<void> => page.waitForURL('**/console/projects/1/home');
  const refused = async (code: string): Promise<void> => {
    await page.getByText(`Error ${code}, request`).waitFor();
    expect(await sessionCookies()).toEqual([]);
  };
  const sessionCookies = async (): Promise<string[]> =>
    (await console.context.cookies(server.url)).map(({ name }) => name).filter((name) => name === 'millrace_session');
  const userOf = async (login: string): Promise<UserRecord | undefined> =>
    (await apiGet<UserRecord[]>(server, '/api/users/')).find(({ email }) => email === `${login}@example.com`);
  const activities = async (id: number): Promise<string[]> => {
    const path = `/api/projects/1/activity_log/?scope=User&item_id=${id}`;
    const { results } = await apiGet<{ results: { activity: string; is_system: boolean }[] }>(server, path);
    return results
      .map(({ activity, is_system: isSystem }) => `${activity}${isSystem ? ' (service)' : ''}`)
      .toReversed();
  };
  /** Starts a sign-in in this browser and returns the address at the provider. */
  const startedAt = async (): Promise<URL> => {
    const answer = await page.request.get(`${server.url}/login/oidc`, { maxRedirects: 0 });
    expect(answer.status()).toBe(303);
    return new URL(String(answer.headers()['location']));
  };

  it('a button of the console signs in, returns to the page, and creates the user with the highest role of its groups', async () => {
    const login = account(['/analytics', '/analytics/editors', 'others']);
    await page.goto(`${server.url}/console/projects/1/warnings?severity=error`);
    await page.getByRole('link', { name: 'Sign in with Example ID' }).waitFor();
    // While signed out, the console checks every few seconds whether it still is.
    const faults = await lookFaults(console, 'oidc-sign-in');
    expect(faults.filter((fault) => !fault.includes('status of 401'))).toEqual([]);
    await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
    await atProvider(login);
    await page.waitForURL('**/console/projects/1/warnings?severity=error');
    await page.getByRole('heading', { level: 1, name: /Warnings/ }).waitFor();
    const user = await userOf(login);
    expect(user).toMatchObject({ role: 'editor', first_name: `Name of ${login}`, sessions: 1 });
    expect(await activities(user?.id ?? 0)).toEqual(['created (service)', 'signed_in']);
    const path = `/api/users/${user?.id}/sessions/`;
    const sessions = await apiGet<{ opened_by: string; created_at: string; expires_at: string }[]>(server, path);
    expect(sessions).toMatchObject([{ opened_by: 'oidc' }]);
    const [{ created_at: from = '', expires_at: until = '' } = {}] = sessions;
    expect(Date.parse(until) - Date.parse(from)).toBe(12 * 3_600_000);
  });

  it('roles follow groups at every sign-in, also if the provider has claims in the user info only', async () => {
    const login = account(['/analytics/admins']);
    await signIn(login);
    await arrived();
    await console.context.clearCookies();
    regroup(login, ['/analytics']);
    provider.claimsInIdToken = false;
    await signIn(login);
    await arrived();
    const user = await userOf(login);
    expect(user?.role).toBe('viewer');
    expect(await activities(user?.id ?? 0)).toEqual([
      'created (service)',
      'signed_in',
      'role_changed_by_group (service)',
      'signed_in',
    ]);
  });

  it('a wrong group is refused, and removal of all groups ends the sessions of the user', async () => {
    const stranger = account(['others']);
    await signIn(stranger);
    await refused('oidc_no_role');
    // The status of the page, and a font of the provider's pages.
    console.problems();
    expect(await lookFaults(console, 'oidc-refused')).toEqual([]);
    expect(await userOf(stranger)).toBeUndefined();
    const login = account(['/analytics/editors']);
    await page.getByRole('link', { name: 'Sign in with another account' }).click();
    await atProvider(login);
    await arrived();
    const session = (await console.context.cookies(server.url)).find(({ name }) => name === 'millrace_session');
    const headers = { cookie: `millrace_session=${session?.value}` };
    const me = async (): Promise<number> => (await fetch(`${server.url}/api/users/@me/`, { headers })).status;
    expect(await me()).toBe(200);
    regroup(login, []);
    await console.context.clearCookies();
    await signIn(login);
    await refused('oidc_no_role');
    expect(await me()).toBe(401);
    const user = await userOf(login);
    expect(user?.sessions).toBe(0);
    expect((await activities(user?.id ?? 0)).at(-1)).toBe('sign_in_refused (service)');
  });

  it.each([
    ['an address of another domain', { email: 'eve@example.org' }, 'oidc_domain_not_allowed'],
    ['an address of a subdomain', { email: 'eve@sub.example.com' }, 'oidc_domain_not_allowed'],
    ['an address that is not verified', { email_verified: false }, 'oidc_email_unverified'],
  ] as const)('%s is refused', async (_name, more, code) => {
    await signIn(account(['/analytics/admins'], more));
    await refused(code);
    expect(await page.title()).toBe('Not signed in');
  });

  it('an expired ID token is refused', async () => {
    const login = account(['/analytics']);
    provider.tokenClockOffMs = -2 * 3_600_000;
    await signIn(login);
    await refused('oidc_token_expired');
    expect(await userOf(login)).toBeUndefined();
  });

  it('a used callback and a replayed code are refused', async () => {
    const login = account(['/analytics']);
    const callbacks: string[] = [];
    const watch = (request: { url(): string }): void => {
      if (request.url().includes('/login/oidc/callback')) callbacks.push(request.url());
    };
    page.on('request', watch);
    await signIn(login);
    await arrived();
    page.off('request', watch);
    const [used = ''] = callbacks;
    const sessions = (await userOf(login))?.sessions;
    await console.context.clearCookies({ name: 'millrace_session' });
    await page.goto(used);
    await refused('oidc_state_invalid');
    // The code again, with a state that this browser has just received.
    const replay = new URL(used);
    replay.searchParams.set('state', String((await startedAt()).searchParams.get('state')));
    await page.goto(replay.href);
    await refused('oidc_code_refused');
    // A state is bound to the browser that started it.
    const foreign = new URL(used);
    foreign.searchParams.set('state', String((await startedAt()).searchParams.get('state')));
    await console.context.clearCookies();
    await page.goto(foreign.href);
    await refused('oidc_state_invalid');
    expect((await userOf(login))?.sessions).toBeLessThanOrEqual(sessions ?? 0);
  });

  it('an ID token with another nonce is refused', async () => {
    const login = account(['/analytics']);
    const address = await startedAt();
    expect(address.searchParams.get('code_challenge_method')).toBe('S256');
    address.searchParams.set('nonce', 'another-nonce');
    await page.goto(address.href);
    await atProvider(login);
    await refused('oidc_nonce_mismatch');
    expect(await userOf(login)).toBeUndefined();
  });

  it('an error of the provider is a page, without its text', async () => {
    const state = (await startedAt()).searchParams.get('state');
    const query = new URLSearchParams({
      state: String(state),
      error: 'access_denied',
      error_description: '<b>owned</b>',
    });
    query.set('iss', provider.issuer);
    await page.goto(`${server.url}/login/oidc/callback?${query}`);
    await refused('oidc_refused');
    expect(await page.content()).not.toContain('owned');
  });

  it('a deactivated user is refused', async () => {
    const login = account(['/analytics']);
    await signIn(login);
    await arrived();
    const user = await userOf(login);
    const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' };
    const init = { method: 'PATCH', headers, body: JSON.stringify({ is_active: false }) };
    expect((await fetch(`${server.url}/api/users/${user?.id}/`, init)).status).toBe(200);
    await console.context.clearCookies();
    await signIn(login);
    await refused('oidc_user_deactivated');
  });

  it('when a session ends over a page, the provider signs in from another tab, and the input is kept', async () => {
    const login = account(['/analytics']);
    await signIn(login);
    await arrived();
    await console.open('warnings');
    await page.getByRole('searchbox').fill('typed before');
    await console.context.clearCookies();
    await backAfter(30_000);
    const overlay = page.getByRole('dialog', { name: 'Your session has ended' });
    await overlay.waitFor();
    const opening = console.context.waitForEvent('page');
    await overlay.getByRole('link', { name: 'Sign in with Example ID' }).click();
    const tab = await opening;
    await atProvider(login, tab);
    await overlay.waitFor({ state: 'detached' });
    expect(await page.getByRole('searchbox').inputValue()).toBe('typed before');
    await tab.close();
  });

  it('a page without input for a minute marks its requests, so that they do not keep the session', async () => {
    await signIn(account(['/analytics']));
    await arrived();
    const marked = (value: string | undefined) =>
      page.waitForRequest((sent) => sent.url().includes('/api/') && sent.headers()['x-millrace-unattended'] === value);
    const later = marked('true');
    await backAfter(61_000);
    expect((await later).method()).toBe('GET');
    const again = marked(undefined);
    await page.mouse.move(200, 200);
    await backAfter(30_000);
    await again;
  });

  it('signing out of the console ends the session here and at the provider', async () => {
    const login = account(['/analytics']);
    await signIn(login);
    await arrived();
    await page.getByRole('button', { name: /^User: / }).click();
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
    await page.waitForURL(`${provider.issuer}/session/end**`);
    await page.getByRole('button', { name: /Yes/ }).click();
    await page.waitForURL(`${server.url}/`);
    await page.getByRole('link', { name: 'Sign in with Example ID' }).waitFor();
    console.problems();
    expect(await lookFaults(console, 'oidc-start')).toEqual([]);
    expect(await sessionCookies()).toEqual([]);
    expect((await userOf(login))?.sessions).toBe(0);
    // The provider requests the password again.
    await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
    await page.locator('input[name=password]').waitFor();
  });

  it('while the provider is down the service works, and a one-time link signs in', async () => {
    await provider.stop();
    try {
      // The discovery document is known; the code cannot be exchanged.
      const state = (await startedAt()).searchParams.get('state');
      const query = new URLSearchParams({ state: String(state), code: 'any', iss: provider.issuer });
      await page.goto(`${server.url}/login/oidc/callback?${query}`);
      await refused('oidc_unreachable');
      await page.getByRole('link', { name: 'Other ways to sign in' }).click();
      await page.getByText('npx millrace login').waitFor();
      const headers = { authorization: `Bearer ${personalKey}` };
      const link = await fetch(`${server.url}/api/users/1/sign_in_link/`, { method: 'POST', headers });
      const { sign_in_url: url } = (await link.json()) as { sign_in_url: string };
      await page.goto(url);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await arrived();
      expect(await sessionCookies()).toEqual(['millrace_session']);
    } finally {
      await provider.start();
    }
  });

  it('the log names each refusal, and contains no secret, code or token', () => {
    const output = server.output();
    expect(output).toContain('"code":"oidc_nonce_mismatch"');
    for (const secret of [oidcClient.secret, 'eyJ', 'code_verifier', '@example.com'])
      expect(output).not.toContain(secret);
  });
});
