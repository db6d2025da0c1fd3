import { describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import type { Settings } from '../config/settings.ts';
import { currentUserRoutes } from '../api/current-user.ts';
import { personalApiKeyRoutes } from '../api/personal-api-keys.ts';
import { scopeCatalogueRoutes } from '../api/routes.ts';
import { userSessionRoutes } from '../api/user-sessions.ts';
import { policiesOf } from './policies.ts';
import { loadSettings } from '../config/load.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

function start(changed: Partial<Settings>): Promise<TestApp> {
  const policies = policiesOf({ ...loadSettings({ env: {} }).settings, ...changed });
  return startTestApp(
    (db, { auth, clock }) => [
      ...currentUserRoutes({ db }),
      ...userSessionRoutes({ db, clock, forgetUser: auth.forgetUser, ...policies }),
      ...personalApiKeyRoutes({ db, clock, forgetKey: auth.forgetKey, ...policies }),
      ...scopeCatalogueRoutes(policies),
    ],
    { settings: changed },
  );
}

/** Uses the session; its time of use is stored. */
async function use(app: TestApp, cookie: string, more: Readonly<Record<string, string>> = {}): Promise<number> {
  const { statusCode } = await app.inject({ url: '/api/users/@me', headers: { cookie, ...more } });
  await app.auth.flush();
  return statusCode;
}

describe('the policy of sessions', () => {
  it('a session that is used stays, and ends after the idle time', async () => {
    await using app = await start({ sessionIdleMinutes: 30 });
    const cookie = await app.session();
    for (let times = 0; times < 10; times += 1) {
      app.clock.advance(26 * minuteMs);
      expect(await use(app, cookie)).toBe(200);
    }
    app.clock.advance(30 * minuteMs);
    expect(await use(app, cookie)).toBe(401);
    const other = await app.session();
    const sessions = await app.inject({ url: '/api/users/@me/sessions', headers: { cookie: other } });
    expect(sessions.json()).toHaveLength(1);
  });

  it('requests of an open page without input do not keep a session', async () => {
    await using app = await start({ sessionIdleMinutes: 30 });
    const cookie = await app.session();
    const unattended = { 'x-millrace-unattended': 'true' };
    for (let minutes = 0; minutes < 25; minutes += 5) {
      app.clock.advance(5 * minuteMs);
      expect(await use(app, cookie, unattended)).toBe(200);
    }
    app.clock.advance(5 * minuteMs);
    expect(await use(app, cookie, unattended)).toBe(401);
  });

  it('a session ends after its maximal life, however much it is used, and so does one that was opened before', async () => {
    await using app = await start({ sessionHoursMax: 12 });
    // With an expiry in 14 days, as without the policy.
    const cookie = await app.session();
    for (let hours = 1; hours < 12; hours += 1) {
      app.clock.advance(hourMs);
      expect(await use(app, cookie)).toBe(200);
    }
    app.clock.advance(hourMs);
    expect(await use(app, cookie)).toBe(401);
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost' };
    const key = await app.key();
    const answer = await app.inject({ method: 'POST', url: '/login', headers, payload: `key=${key}` });
    expect(answer.headers['set-cookie']).toContain('Max-Age=43200');
  });

  it('without a policy a session lasts 14 days, used or not', async () => {
    await using app = await start({});
    const cookie = await app.session();
    app.clock.advance(14 * dayMs - 1000);
    expect(await use(app, cookie)).toBe(200);
    app.clock.advance(1000);
    expect(await use(app, cookie)).toBe(401);
  });
});

describe('the policy of keys', () => {
  it.each([
    ['without an expiry', null, 'required', 'got: none'],
    ['with a later expiry', 31, 'max_value', 'within 30 days'],
  ] as const)('a key %s is refused with the latest one', async (_name, days, code, words) => {
    await using app = await start({ keyDaysMax: 30 });
    const latest = new Date(app.clock.now() + 30 * dayMs).toISOString().slice(0, 19);
    const answer = await create(app, days);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code, attr: 'expires_at', detail: expect.stringContaining(words) });
    expect(answer.body).toContain(latest);
  });

  it('a key with an expiry in time is created; the policy is in the list of scopes', async () => {
    await using app = await start({ keyDaysMax: 30 });
    expect((await create(app, 30)).statusCode).toBe(201);
    const headers = { cookie: await app.session() };
    expect((await app.inject({ url: '/api/scopes', headers })).json()).toMatchObject({ key_days_max: 30 });
  });

  it('a key of before gets an expiry when it is rolled, and keeps an earlier one', async () => {
    await using app = await start({ keyDaysMax: 30 });
    const soon = new Date(app.clock.now() + dayMs).toISOString();
    for (const [given, expected] of [
      [undefined, new Date(app.clock.now() + 30 * dayMs).toISOString()],
      ['2099-01-01T00:00:00Z', new Date(app.clock.now() + 30 * dayMs).toISOString()],
      [soon, soon],
    ] as const) {
      const key = await app.key(['*'], given === undefined ? {} : { expiresAt: given });
      const headers = { authorization: `Bearer ${key}` };
      const { id } = (await app.inject({ url: '/api/personal_api_keys/@current', headers })).json();
      const cookie = await app.session();
      const rolled = await app.inject({
        method: 'POST',
        url: `/api/personal_api_keys/${id}/roll`,
        headers: { cookie, origin: 'http://localhost' },
      });
      expect(rolled.statusCode).toBe(200);
      expect(Date.parse(rolled.json().expires_at)).toBe(Date.parse(expected));
    }
  });

  it('the form of the start page creates keys that expire in time', async () => {
    await using app = await start({ keyDaysMax: 7 });
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost' };
    const cookie = await app.session();
    const payload = 'label=Laptop&access=all';
    const made = await app.inject({ method: 'POST', url: '/keys', headers: { ...headers, cookie }, payload });
    expect(made.statusCode).toBe(201);
    const keys = (await app.inject({ url: '/api/personal_api_keys', headers: { cookie } })).json();
    expect(Date.parse(keys[0].expires_at)).toBe(app.clock.now() + 7 * dayMs);
  });

  async function create(app: TestApp, days: number | null) {
    const expiresAt = days === null ? null : new Date(app.clock.now() + days * dayMs).toISOString();
    return app.inject({
      method: 'POST',
      url: '/api/personal_api_keys',
      headers: { cookie: await app.session(), origin: 'http://localhost' },
      payload: { label: 'Nightly', scopes: ['plugin:read'], expires_at: expiresAt },
    });
  }
});
