import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { chromiumPath, launchBrowser } from '../../../test/support/browser.ts';
import { personalApiKeyRoutes } from '../api/personal-api-keys.ts';
import { createLoginLink } from '../../stores/metadata/sessions.ts';
import { updateProject } from '../../stores/metadata/projects.ts';

let app: TestApp;
beforeEach(async () => {
  app = await startTestApp((db, { auth, clock }) => personalApiKeyRoutes({ db, clock, forgetKey: auth.forgetKey }));
});
afterEach(() => app[Symbol.asyncDispose]());

const form = { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost' };
const link = () => createLoginLink(app.db, { userId: app.user.id, now: app.clock.now() });
const exchange = (token: string, headers: Record<string, string> = form) =>
  app.inject({ method: 'POST', url: '/login', headers, payload: `token=${encodeURIComponent(token)}` });

describe('the one-time link', () => {
  it('signs in once, however often it was opened before', async () => {
    const token = await link();
    for (let preview = 0; preview < 3; preview += 1) {
      const page = await app.inject({ url: `/login?token=${token}` });
      expect([page.statusCode, page.body.includes(token), page.headers['set-cookie']]).toEqual([200, true, undefined]);
    }
    const first = await exchange(token);
    expect([first.statusCode, first.headers['location']]).toEqual([303, '/']);
    const cookie = String(first.headers['set-cookie']);
    expect(cookie).toMatch(/^millrace_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=1209600$/);
    const home = await app.inject({ url: '/', headers: { cookie: cookie.split(';')[0] ?? '' } });
    expect(home.body).toContain(app.project.apiToken);
    const recorded = await app.db.selectFrom('activity_log').select(['activity', 'user_id']).execute();
    expect(recorded).toEqual([{ activity: 'signed_in_with_link', user_id: app.user.id }]);
    const second = await exchange(token);
    expect([second.statusCode, second.headers['set-cookie']]).toEqual([403, undefined]);
    expect(second.body).toContain('does not work any more');
  });

  it('only one of two concurrent exchanges succeeds', async () => {
    const token = await link();
    const answers = await Promise.all([exchange(token), exchange(token), exchange(token)]);
    expect(answers.map((answer) => answer.statusCode).toSorted()).toEqual([303, 403, 403]);
  });

  it('expires after 30 minutes, and is refused from another site', async () => {
    const token = await link();
    const other = await exchange(token, { ...form, origin: 'https://evil.example' });
    expect(other.statusCode).toBe(403);
    app.clock.advance(30 * 60_000);
    expect((await exchange(token)).statusCode).toBe(403);
    expect((await exchange('unknown')).statusCode).toBe(403);
    expect((await app.inject({ url: '/login' })).statusCode).toBe(400);
  });

  it('marks the cookie Secure behind https', async () => {
    await using secure = await startTestApp(() => [], { settings: { siteUrl: 'https://events.example.com/' } });
    const token = await createLoginLink(secure.db, { userId: secure.user.id, now: secure.clock.now() });
    const headers = { ...form, origin: 'https://events.example.com' };
    const answer = await secure.inject({ method: 'POST', url: '/login', headers, payload: `token=${token}` });
    expect(String(answer.headers['set-cookie'])).toMatch(/; Secure$/);
  });
});

describe('signing in with a personal key', () => {
  const signIn = (key: string) => app.inject({ method: 'POST', url: '/login', headers: form, payload: `key=${key}` });

  it('accepts a key with full access, for at most 12 hours', async () => {
    const answer = await signIn(await app.key());
    expect([answer.statusCode, String(answer.headers['set-cookie'])]).toEqual([
      303,
      expect.stringContaining('Max-Age=43200'),
    ]);
  });

  it.each([
    ['rolled', 'POST', '/roll'],
    ['deleted', 'DELETE', ''],
  ] as const)('ends immediately when the key is %s', async (_name, method, path) => {
    const key = await app.key();
    const signedIn = { cookie: String((await signIn(key)).headers['set-cookie']).split(';')[0] ?? '' };
    const byLink = { cookie: await app.session() };
    const own = { authorization: `Bearer ${key}` };
    const home = async (headers: { cookie: string }) => (await app.inject({ url: '/', headers })).body;
    expect(await home(signedIn)).toContain(app.project.apiToken);
    const { id } = (await app.inject({ url: '/api/personal_api_keys/@current', headers: own })).json();
    const changed = await app.inject({ method, url: `/api/personal_api_keys/${id}${path}`, headers: own });
    expect(changed.statusCode).toBeLessThan(300);
    expect(await home(signedIn)).not.toContain('phc_');
    expect(await home(byLink)).toContain(app.project.apiToken);
    expect((await signIn(key)).statusCode).toBe(403);
  });

  it('ends within 5 s when another process deletes the key', async () => {
    const cookie = String((await signIn(await app.key())).headers['set-cookie']).split(';')[0] ?? '';
    const home = async () => (await app.inject({ url: '/', headers: { cookie } })).body;
    expect(await home()).toContain('phc_');
    await app.db.deleteFrom('personal_api_keys').execute();
    app.clock.advance(5_001);
    expect(await home()).not.toContain('phc_');
  });

  it('refuses a key with less access, or with an expiry', async () => {
    for (const key of [
      'phx_unknown',
      await app.key(['plugin:write']),
      await app.key(['*'], { projectIds: [app.project.id] }),
      await app.key(['*'], { expiresAt: '2020-01-01T00:00:00Z' }),
      await app.key(['*'], { expiresAt: '2099-01-01T00:00:00Z' }),
    ]) {
      const answer = await signIn(key);
      expect([answer.statusCode, answer.headers['set-cookie']]).toEqual([403, undefined]);
      expect(answer.body).not.toContain(key);
    }
  });
});

describe('the start page', () => {
  it('shows a stranger no project, only how to sign in', async () => {
    const page = await app.inject({ url: '/' });
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain('millrace login');
    expect(page.body).not.toContain('phc_');
  });

  it('shows projects with a working example, escaped, without content from other servers', async () => {
    await updateProject(app.db, app.project.id, { name: '<script>alert(1)</script>' }, app.clock.now());
    const headers = { cookie: await app.session(), host: 'localhost:8000' };
    const page = await app.inject({ url: '/', headers });
    expect(page.body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page.body).not.toContain('<script');
    expect(page.body).toContain('curl http://localhost:8000/batch/');
    expect(page.body).toContain(app.otherProject.apiToken);
    expect(page.body).not.toContain(app.foreignProject.apiToken);
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
    expect(page.headers['cache-control']).toBe('no-store');
  });

  it('creates a personal key and shows it once', async () => {
    const headers = { ...form, cookie: await app.session() };
    const made = await app.inject({ method: 'POST', url: '/keys', headers, payload: 'label=Laptop&access=all' });
    expect(made.statusCode).toBe(201);
    const key = /phx_\w{48}/.exec(made.body)?.[0] ?? '';
    expect(key).not.toBe('');
    expect((await app.auth.identify({ kind: 'key', key, place: 'body' }, '127.0.0.1')).userId).toBe(app.user.id);
    expect((await app.inject({ url: '/', headers })).body).not.toContain(key);
    const blank = await app.inject({ method: 'POST', url: '/keys', headers, payload: 'label=+' });
    expect(blank.statusCode).toBe(400);
    const stranger = await app.inject({ method: 'POST', url: '/keys', headers: form, payload: 'label=x' });
    expect(stranger.statusCode).toBe(401);
    const foreign = { ...headers, origin: 'https://evil.example' };
    const forged = await app.inject({ method: 'POST', url: '/keys', headers: foreign, payload: 'label=x' });
    expect(forged.statusCode).toBe(403);
  });

  it('signs out immediately', async () => {
    const headers = { ...form, cookie: await app.session() };
    expect((await app.inject({ url: '/', headers })).body).toContain('phc_');
    const out = await app.inject({ method: 'POST', url: '/logout', headers, payload: '' });
    expect([out.statusCode, String(out.headers['set-cookie'])]).toEqual([303, expect.stringContaining('Max-Age=0')]);
    expect((await app.inject({ url: '/', headers })).body).not.toContain('phc_');
  });
});

describe.skipIf(!chromiumPath)('in a browser', () => {
  it('signs in by link, creates a key and signs out, with nothing blocked', async () => {
    const url = await app.app.listen({ host: '127.0.0.1', port: 0 });
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(message.text()));
      await page.goto(`${url}/login?token=${await link()}`);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText(app.project.apiToken, { exact: true }).waitFor();
      await page.getByLabel('What it is for').fill('Laptop');
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByText(/^phx_\w{48}$/).waitFor();
      await page.getByRole('link', { name: 'Back' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('one-time link in this browser').waitFor();
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
