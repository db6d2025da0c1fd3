import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { Type } from 'typebox';
import { isoMicros } from '../../base/clock.ts';
import { apiRoute } from '../http/api-route.ts';
import { currentUserRoutes } from './current-user.ts';
import { personalApiKeyRoutes } from './personal-api-keys.ts';
import { userSessionRoutes } from './user-sessions.ts';
import { userRoutes } from './users.ts';

let app: TestApp;
/** Of an admin, for all that is there. */
let admin: { authorization: string };
beforeEach(async () => {
  app = await startTestApp((db, { auth: { forgetKey, forgetUser }, clock }) => [
    ...currentUserRoutes({ db }),
    ...userRoutes({ db, clock, forgetUser }),
    ...userSessionRoutes({ db, clock, forgetUser }),
    ...personalApiKeyRoutes({ db, clock, forgetKey }),
    apiRoute({
      method: 'POST',
      path: '/api/erase',
      scope: 'erasure:write',
      tag: 'Erasures',
      summary: 'Requires the scope',
      responses: { 200: Type.Object({}) },
      handler: async () => ({ status: 200, body: {} }),
    }),
  ]);
  admin = { authorization: `Bearer ${await app.key()}` };
});
afterEach(() => app[Symbol.asyncDispose]());

const bob = { email: 'bob@example.com', first_name: 'Bob', role: 'editor' };
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
const ask = (method: Method, url: string, payload?: object, headers: Record<string, string> = admin) =>
  app.inject({ method, url: `/api/users${url}`, headers, ...(payload !== undefined && { payload }) });
const invite = async (payload: object = bob) => (await ask('POST', '', payload)).json();

/** Signs in as a browser would; the Cookie header, or the status of the refusal. */
async function signIn(signInUrl: string, userAgent = ''): Promise<string | number> {
  const token = new URL(signInUrl).searchParams.get('token') ?? '';
  const answer = await app.inject({
    method: 'POST',
    url: '/login',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'http://localhost',
      'user-agent': userAgent,
    },
    payload: `token=${token}`,
  });
  return answer.statusCode === 303 ? (String(answer.headers['set-cookie']).split(';')[0] ?? '') : answer.statusCode;
}

const browser = (cookie: string | number) => ({ cookie: String(cookie), 'sec-fetch-site': 'same-origin' });

async function logged(): Promise<unknown[]> {
  const rows = await app.db.selectFrom('activity_log').selectAll().orderBy('id').execute();
  return rows.map(({ scope, item_id, activity, name, changes }) => [
    scope,
    item_id,
    activity,
    name,
    JSON.parse(changes),
  ]);
}

describe('users', () => {
  it('a sign-in by a key without the scope erasure, or by its link, leads to no right to erase', async () => {
    const asKey = async (...scopes: string[]) => ({ authorization: `Bearer ${await app.key(scopes)}` });
    const asSession = async (headers: Record<string, string>, more: object) =>
      browser(await signIn((await ask('POST', '', { ...bob, role: 'admin', ...more }, headers)).json().sign_in_url));
    const star = await asKey('*');
    const every = await asKey('*', 'erasure:write');
    const invited = await asSession(star, { email: 'a@example.com' });
    const unlimited = await asSession(every, { email: 'b@example.com' });
    // A link that such a session creates, and a session that the key opens itself, have no more.
    const again = await asSession(invited, { email: 'c@example.com' });
    const direct = await app.inject({
      method: 'POST',
      url: '/login',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost' },
      payload: `key=${star.authorization.slice('Bearer '.length)}`,
    });
    const opened = browser(String(direct.headers['set-cookie']).split(';')[0] ?? '');
    const outcomes = async (headers: Record<string, string>) => {
      const erase = await app.inject({ method: 'POST', url: '/api/erase', headers });
      const scopes = ['erasure:write'];
      const url = '/api/personal_api_keys';
      const key = await app.inject({ method: 'POST', url, headers, payload: { label: 'more', scopes } });
      return [erase.statusCode, erase.json().detail, key.statusCode];
    };
    const refused = expect.stringMatching(/^Session missing required scope 'erasure:write': .* "npx millrace login"/);
    for (const session of [invited, again, opened]) expect(await outcomes(session)).toEqual([403, refused, 403]);
    expect(await outcomes(unlimited)).toEqual([200, undefined, 201]);
    expect(await outcomes(browser(await app.session()))).toEqual([200, undefined, 201]);
    // A key that such a session could see by rolling it, and one that it may still remove.
    const mine = await app.db.selectFrom('personal_api_keys').select('id').where('label', '=', 'more').execute();
    const ownKey = `/api/personal_api_keys/${mine.at(-1)?.id}`;
    const roll = await app.inject({ method: 'POST', url: `${ownKey}/roll`, headers: opened, payload: {} });
    expect([roll.statusCode, roll.json().detail]).toEqual([403, expect.stringContaining("scope 'erasure:write'")]);
    expect((await app.inject({ method: 'DELETE', url: ownKey, headers: opened })).statusCode).toBe(204);
  });

  it('an invited user signs in once with the link and is who was invited', async () => {
    const made = await ask('POST', '', bob);
    expect(made.statusCode).toBe(201);
    const { sign_in_url: url, sign_in_expires_at: end, ...record } = made.json();
    expect(record).toEqual({
      id: record.id,
      uuid: record.uuid,
      ...bob,
      is_active: true,
      deactivated_at: null,
      date_joined: '2026-11-20T10:00:00.000000Z',
      last_seen_at: null,
      sessions: 0,
      personal_api_keys: 0,
    });
    expect(made.headers['location']).toBe(`http://localhost:80/api/users/${record.id}/`);
    expect(end).toBe('2026-11-23T10:00:00.000000Z');
    app.clock.advance(71 * 3_600_000);
    const cookie = await signIn(url);
    expect(cookie).toMatch(/^millrace_session=/);
    expect(await signIn(url)).toBe(403);
    const me = await app.inject({ url: '/api/users/@me', headers: browser(cookie) });
    expect(me.json()).toMatchObject({ id: record.id, first_name: 'Bob', role: 'editor' });
    expect((await ask('GET', '')).json()).toMatchObject([{ role: 'admin' }, { email: bob.email, sessions: 1 }]);
    expect((await ask('GET', `/${record.id}`)).json()).toMatchObject({ last_seen_at: isoMicros(app.clock.now()) });
  });

  it('a link ends after its time, and another one can be made', async () => {
    const { id, sign_in_url: late } = await invite();
    app.clock.advance(72 * 3_600_000);
    expect(await signIn(late)).toBe(403);
    const link = await ask('POST', `/${id}/sign_in_link`);
    expect(link.statusCode).toBe(201);
    expect(await signIn(link.json().sign_in_url)).toMatch(/^millrace_session=/);
  });

  it('an address is taken once in an organisation, whatever its case', async () => {
    await invite();
    const twin = await ask('POST', '', { ...bob, email: 'BOB@example.com' });
    expect([twin.statusCode, twin.json().code, twin.json().attr]).toEqual([400, 'unique', 'email']);
    const moved = await ask('PATCH', `/${app.user.id}`, { email: 'Bob@example.com' });
    expect([moved.statusCode, moved.json().code]).toEqual([400, 'unique']);
    expect((await ask('PATCH', `/${app.user.id}`, { email: app.user.email.toUpperCase() })).statusCode).toBe(200);
  });

  it.each([
    [{ ...bob, email: 'not-an-address' }, 'email'],
    [{ ...bob, role: 'owner' }, 'role'],
    [{ ...bob, first_name: ' ' }, 'first_name'],
    [{ first_name: 'Bob', role: 'viewer' }, 'email'],
    [{ email: 'b@c' }, 'role'],
  ])('refuses %o', async (payload, attr) => {
    const answer = await ask('POST', '', payload);
    expect([answer.statusCode, answer.json().attr]).toEqual([400, attr]);
  });

  it('a change of role takes effect immediately, for sessions and keys', async () => {
    const { id, sign_in_url: url } = await invite({ ...bob, role: 'admin' });
    const cookie = await signIn(url);
    const key = { authorization: `Bearer ${await app.key(['*'], { userId: id })}` };
    const both = async (): Promise<number[]> => {
      const name = { first_name: 'Ada' };
      const path = `/${app.user.id}`;
      const answers = [await ask('PATCH', path, name, browser(cookie)), await ask('PATCH', path, name, key)];
      return answers.map(({ statusCode }) => statusCode);
    };
    expect(await both()).toEqual([200, 200]);
    expect((await ask('PATCH', `/${id}`, { role: 'editor' })).json()).toMatchObject({ role: 'editor' });
    expect(await both()).toEqual([403, 403]);
  });

  it('deactivating a user ends sessions and stops keys immediately, and reactivating restores the keys', async () => {
    const { id, sign_in_url: url } = await invite();
    const spare = (await ask('POST', `/${id}/sign_in_link`)).json().sign_in_url;
    const cookie = await signIn(url);
    const key = { authorization: `Bearer ${await app.key(['*'], { userId: id })}` };
    const me = async (headers: Record<string, string>) =>
      (await app.inject({ url: '/api/users/@me', headers })).statusCode;
    expect([await me(browser(cookie)), await me(key)]).toEqual([200, 200]);
    const out = await ask('PATCH', `/${id}`, { is_active: false });
    expect(out.json()).toMatchObject({ is_active: false, deactivated_at: isoMicros(app.clock.now()), sessions: 0 });
    expect([await me(browser(cookie)), await me(key), await signIn(spare)]).toEqual([401, 401, 403]);
    const link = await ask('POST', `/${id}/sign_in_link`);
    expect([link.statusCode, link.json().code]).toEqual([409, 'conflict']);
    expect((await ask('PATCH', `/${id}`, { is_active: true })).json()).toMatchObject({ deactivated_at: null });
    expect([await me(browser(cookie)), await me(key)]).toEqual([401, 200]);
  });

  it('a deleted user is gone with sessions and keys; what the user did keeps the name', async () => {
    const { id, sign_in_url: url } = await invite({ ...bob, role: 'admin' });
    const cookie = await signIn(url);
    await ask('POST', '', { email: 'eve@example.com', role: 'viewer' }, browser(cookie));
    const key = { authorization: `Bearer ${await app.key(['*'], { userId: id })}` };
    expect((await ask('DELETE', `/${id}`)).statusCode).toBe(204);
    for (const headers of [browser(cookie), key]) {
      expect((await app.inject({ url: '/api/users/@me', headers })).statusCode).toBe(401);
    }
    expect((await ask('GET', `/${id}`)).statusCode).toBe(404);
    expect(await app.db.selectFrom('personal_api_keys').select('id').where('user_id', '=', id).execute()).toEqual([]);
    const row = app.db.selectFrom('activity_log').select('user_name').where('user_id', '=', id);
    expect(await row.executeTakeFirst()).toEqual({ user_name: 'Bob (bob@example.com)' });
  });

  it('the last active admin can be neither demoted, deactivated nor deleted', async () => {
    const { id } = await invite({ ...bob, role: 'admin' });
    await ask('PATCH', `/${id}`, { is_active: false });
    const last = `/${app.user.id}`;
    for (const answer of [
      await ask('PATCH', last, { role: 'editor' }),
      await ask('PATCH', last, { is_active: false }),
      await ask('DELETE', last),
    ]) {
      expect([answer.statusCode, answer.json().code]).toEqual([409, 'conflict']);
    }
    await ask('PATCH', `/${id}`, { is_active: true });
    const demoted = await Promise.all([
      ask('PATCH', last, { role: 'viewer' }),
      ask('PATCH', `/${id}`, { role: 'viewer' }),
    ]);
    expect(demoted.map(({ statusCode }) => statusCode)).toContain(200);
    const left = app.db.selectFrom('users').select('role').where('role', '=', 'admin');
    expect(await left.execute()).toHaveLength(1);
  });

  it('a key without full access cannot create users or links', async () => {
    const { id } = await invite();
    for (const key of [
      await app.key(['organization:write', 'user:write']),
      await app.key(['*'], { projectIds: [app.project.id] }),
      await app.key(['*'], { expiresAt: '2099-01-01T00:00:00Z' }),
    ]) {
      const by = { authorization: `Bearer ${key}` };
      const answers = [
        await ask('POST', '', { ...bob, email: 'eve@example.com' }, by),
        await ask('POST', `/${id}/sign_in_link`, undefined, by),
        await ask('PATCH', `/${id}`, { role: 'admin' }, by),
        await ask('DELETE', `/${id}`, undefined, by),
      ];
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([403, 403, 403, 403]);
    }
  });

  it('are those of the own organisation', async () => {
    const [stranger] = await app.db
      .insertInto('users')
      .values({
        uuid: 'u',
        organization_id: app.foreignProject.organizationId,
        first_name: 'Mallory',
        email: 'm@example.com',
        created_at: isoMicros(app.clock.now()),
      })
      .returning('id')
      .execute();
    expect((await ask('GET', '')).json()).toHaveLength(1);
    const answers = [
      await ask('GET', `/${stranger?.id}`),
      await ask('PATCH', `/${stranger?.id}`, { role: 'viewer' }),
      await ask('DELETE', `/${stranger?.id}`),
      await ask('POST', `/${stranger?.id}/sign_in_link`),
      await ask('GET', `/${stranger?.id}/sessions`),
      await ask('DELETE', `/${stranger?.id}/sessions`),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([404, 404, 404, 404, 404, 404]);
  });

  it('every change is in the activity log, before and after, and no link is', async () => {
    const { id, sign_in_url: url } = await invite();
    await ask('PATCH', `/${id}`, { role: 'viewer' });
    await ask('PATCH', `/${id}`, { role: 'viewer' });
    await ask('PATCH', `/${id}`, { is_active: false });
    await ask('DELETE', `/${id}`);
    const item = String(id);
    expect(await logged()).toEqual([
      ['User', item, 'created', bob.email, expect.any(Array)],
      [
        'User',
        item,
        'role_changed',
        bob.email,
        [{ field: 'role', action: 'changed', before: 'editor', after: 'viewer' }],
      ],
      ['User', item, 'deactivated', bob.email, [{ field: 'is_active', action: 'changed', before: true, after: false }]],
      ['User', item, 'deleted', bob.email, expect.any(Array)],
    ]);
    expect(JSON.stringify(await logged())).not.toContain(new URL(url).searchParams.get('token'));
  });
});

describe('sessions', () => {
  const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

  it('show when, where and with what they were opened, and are ended one by one', async () => {
    const { id, sign_in_url: url } = await invite();
    const first = await signIn(url, firefox);
    const second = await signIn((await ask('POST', `/${id}/sign_in_link`)).json().sign_in_url);
    app.clock.advance(60_000);
    const list = await ask('GET', '/@me/sessions', undefined, browser(second));
    expect(list.json()).toHaveLength(2);
    const opened = list.json().find(({ browser: name }: { browser: string }) => name !== '');
    expect(opened).toEqual({
      id: opened.id,
      created_at: '2026-11-20T10:00:00.000000Z',
      last_used_at: null,
      expires_at: '2026-12-04T10:00:00.000000Z',
      browser: 'Firefox on Linux',
      address: '127.0.0.1',
      opened_by: 'link',
      is_current: false,
    });
    expect(JSON.stringify(list.json())).not.toContain(String(first).split('=')[1]);
    expect((await ask('DELETE', `/@me/sessions/${opened.id}`, undefined, browser(second))).statusCode).toBe(204);
    expect((await ask('DELETE', `/@me/sessions/${opened.id}`, undefined, browser(second))).statusCode).toBe(404);
    expect((await ask('GET', '/@me', undefined, browser(first))).statusCode).toBe(401);
    await app.auth.flush();
    const left = await ask('GET', '/@me/sessions', undefined, browser(second));
    expect(left.json()).toMatchObject([{ is_current: true, last_used_at: '2026-11-20T10:01:00.000000Z' }]);
  });

  it('signing out everywhere ends all of them, or all others, and none of other users', async () => {
    const [one, two, three] = [await app.session(), await app.session(), await app.session()];
    const other = await app.session((await app.userOf('viewer')).id);
    const signedIn = async () => {
      const answers = [one, two, three, other].map((cookie) => ask('GET', '/@me', undefined, browser(cookie)));
      return (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    };
    expect(await signedIn()).toEqual([200, 200, 200, 200]);
    await ask('DELETE', '/@me/sessions?keep_current=true', undefined, browser(two));
    expect(await signedIn()).toEqual([401, 200, 401, 200]);
    await ask('DELETE', '/@me/sessions', undefined, browser(two));
    expect(await signedIn()).toEqual([401, 401, 401, 200]);
  });

  it('of others are seen and ended by admins', async () => {
    const viewer = await app.userOf('viewer');
    const [one, two] = [await app.session(viewer.id), await app.session(viewer.id)];
    const path = `/${viewer.id}/sessions`;
    expect((await ask('GET', path, undefined, browser(one))).statusCode).toBe(403);
    const [first] = (await ask('GET', path)).json();
    expect((await ask('DELETE', `${path}/${first.id}`)).statusCode).toBe(204);
    expect((await ask('GET', path)).json()).toHaveLength(1);
    expect((await ask('DELETE', path)).statusCode).toBe(204);
    for (const cookie of [one, two]) {
      expect((await ask('GET', '/@me', undefined, browser(cookie))).statusCode).toBe(401);
    }
  });

  it('are only ended by a request of our pages', async () => {
    const cookie = await app.session();
    const forged = { cookie, 'sec-fetch-site': 'cross-site' };
    expect((await ask('DELETE', '/@me/sessions', undefined, forged)).statusCode).toBe(403);
    expect((await ask('GET', '/@me', undefined, browser(cookie))).statusCode).toBe(200);
  });
});
