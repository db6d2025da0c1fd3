import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { Type } from 'typebox';
import { wrongAnswers } from '../../../test/support/access-matrix.ts';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { personalApiKeyRoutes } from '../api/personal-api-keys.ts';
import { projectRoutes } from '../api/projects.ts';
import { currentUserRoutes } from '../api/current-user.ts';
import type { ApiError } from '../../wire/contract/errors.ts';
import { createLog } from '../telemetry/log.ts';
import type { ApiRoute } from './api-route.ts';
import { createAuth } from './auth.ts';

let app: TestApp;
let routes: ApiRoute[];
beforeEach(async () => {
  app = await startTestApp((db, { auth, clock }) => {
    const { forgetKey, forgetProject } = auth;
    routes = [
      ...projectRoutes({ db, clock, forgetProject }),
      ...personalApiKeyRoutes({ db, clock, forgetKey }),
      ...currentUserRoutes({ db }),
      {
        method: 'POST',
        path: '/api/echo',
        scope: 'plugin:read',
        tag: 'test',
        summary: 'Echo',
        body: Type.Object({}),
        responses: {},
        handler: async ({ body, query, principal }) => ({ status: 200, body: { body, query, kind: principal.kind } }),
      },
    ];
    return routes;
  });
});
afterEach(() => app[Symbol.asyncDispose]());

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const storedUse = async (): Promise<(string | null)[]> => {
  const rows = await app.db.selectFrom('personal_api_keys').select('last_used_at').execute();
  return rows.map((row) => row.last_used_at);
};

describe('access', () => {
  it('refuses on every route: no key, bad, expired, missing scope, foreign and unknown projects', async () => {
    expect(await wrongAnswers(app, routes)).toEqual([]);
  });

  it('write scopes include read, and * includes everything', async () => {
    for (const scopes of [['project:write'], ['project:read'], ['*']]) {
      const answer = await app.inject({ url: '/api/projects/@current/', headers: bearer(await app.key(scopes)) });
      expect([scopes, answer.statusCode]).toEqual([scopes, 200]);
    }
  });

  it('resolves @current to the first project that the key can access', async () => {
    const limited = await app.key(['*'], { projectIds: [app.otherProject.id] });
    const own = await app.inject({ url: '/api/projects/@current', headers: bearer(await app.key()) });
    const other = await app.inject({ url: '/api/projects/@current', headers: bearer(limited) });
    expect([own.json().id, other.json().id]).toEqual([app.project.id, app.otherProject.id]);
  });

  it('accepts the key in body and query too, and hides it from the handler', async () => {
    const key = await app.key();
    const inBody = await app.inject({ method: 'POST', url: '/api/echo', payload: { personal_api_key: key, a: 1 } });
    expect(inBody.json()).toEqual({ body: { a: 1 }, query: {}, kind: 'key' });
    const inQuery = await app.inject({ method: 'POST', url: `/api/echo?personal_api_key=${key}&b=2` });
    expect(inQuery.json()).toEqual({ body: {}, query: { b: '2' }, kind: 'key' });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const payload = `personal_api_key=${key}&c=3`;
    const inForm = await app.inject({ method: 'POST', url: '/api/echo', headers: form, payload });
    expect(inForm.json()).toEqual({ body: { c: '3' }, query: {}, kind: 'key' });
  });

  it('uses the first key found and names its place', async () => {
    const good = await app.key();
    const spaced = await app.inject({ url: '/api/users/@me/', headers: { authorization: `Bearer    ${good}  ` } });
    expect(spaced.statusCode).toBe(200);
    const url = `/api/echo?personal_api_key=${good}`;
    const body = await app.inject({ method: 'POST', url, payload: { personal_api_key: 'phx_bad' } });
    expect(body.json().detail).toBe('Personal API key found in request body is invalid.');
    const basic = { authorization: 'Basic abc' };
    const other = { method: 'POST', url: '/api/echo', headers: basic, payload: { personal_api_key: good } } as const;
    expect((await app.inject(other)).statusCode).toBe(200);
    const query = await app.inject({ url: '/api/users/@me?personal_api_key=phx_bad' });
    expect(query.json().detail).toBe('Personal API key found in request query string is invalid.');
  });

  it('refuses an address that tries wrong keys; right keys of the same address pass', async () => {
    await using slow = await startTestApp((db) => currentUserRoutes({ db }), {
      wrongKeyWindows: [{ limit: 3, ms: 60_000 }],
    });
    const ask = async (key: string, remoteAddress = '192.0.2.1') => {
      const answer = await slow.inject({ url: '/api/users/@me', headers: bearer(key), remoteAddress });
      return [answer.statusCode, answer.headers['retry-after']];
    };
    const [proven, fresh] = [await slow.key(), await slow.key()];
    expect(await ask(proven)).toEqual([200, undefined]);
    for (const wrong of ['a', 'b', 'c']) expect(await ask(wrong)).toEqual([401, undefined]);
    slow.clock.advance(20_000);
    expect(await ask('d')).toEqual([429, '40']);
    expect(await ask(fresh)).toEqual([200, undefined]);
    expect(await ask(proven)).toEqual([200, undefined]);
    expect(await ask('e', '192.0.2.2')).toEqual([401, undefined]);
    slow.clock.advance(40_000);
    expect(await ask(fresh)).toEqual([200, undefined]);
  });

  it('allows twenty wrong keys per address and minute', async () => {
    const { db, clock } = app;
    const auth = createAuth({ db, clock, log: createLog('silent') });
    const codeOf = async (key: string): Promise<unknown> =>
      auth
        .identify({ kind: 'key', key, place: 'body' }, '192.0.2.1')
        .catch((error: unknown) => (error as ApiError).code);
    for (let n = 0; n < 20; n += 1) expect(await codeOf(`phx_${n}`)).toBe('authentication_failed');
    expect(await codeOf('phx_20')).toBe('throttled');
    clock.advance(60_000);
    expect(await codeOf('phx_20')).toBe('authentication_failed');
    await auth.close();
  });

  it('compares hashes in constant time', async () => {
    const compare = vi.spyOn(crypto, 'timingSafeEqual');
    syncBuiltinESMExports();
    await app.inject({ url: '/api/users/@me', headers: bearer(await app.key()) });
    expect(compare).toHaveBeenCalledTimes(1);
    compare.mockRestore();
    syncBuiltinESMExports();
  });
});

describe('the key cache', () => {
  it('saves the queries of a busy key, and notices a change by another process within 5 s', async () => {
    const key = await app.key();
    const call = () => app.inject({ url: `/api/personal_api_keys/@current`, headers: bearer(key) });
    expect((await call()).statusCode).toBe(200);
    await app.db.deleteFrom('personal_api_keys').execute();
    expect((await call()).json().code).toBe('not_found');
    app.clock.advance(5_000);
    expect((await call()).json().code).toBe('authentication_failed');
  });

  it('ends a rolled or deleted key immediately, and a rotated project shows its new key immediately', async () => {
    const admin = await app.key();
    const key = await app.key(['*']);
    const { id } = (await app.inject({ url: '/api/personal_api_keys/@current', headers: bearer(key) })).json();
    const rolled = await app.inject({
      method: 'POST',
      url: `/api/personal_api_keys/${id}/roll`,
      headers: bearer(admin),
    });
    expect((await app.inject({ url: '/api/users/@me', headers: bearer(key) })).statusCode).toBe(401);
    const next = bearer(rolled.json().value);
    expect((await app.inject({ url: '/api/users/@me', headers: next })).statusCode).toBe(200);
    await app.inject({ method: 'DELETE', url: `/api/personal_api_keys/${id}`, headers: bearer(admin) });
    expect((await app.inject({ url: '/api/users/@me', headers: next })).statusCode).toBe(401);
  });

  it('ends a cached key when it expires', async () => {
    const key = await app.key(['*'], { expiresAt: new Date(app.clock.now() + 2_000).toISOString() });
    expect((await app.inject({ url: '/api/users/@me', headers: bearer(key) })).statusCode).toBe(200);
    app.clock.advance(2_000);
    expect((await app.inject({ url: '/api/users/@me', headers: bearer(key) })).statusCode).toBe(401);
  });

  it('writes last_used_at once per hour and key, in the background', async () => {
    const key = await app.key();
    for (let call = 0; call < 5; call += 1) await app.inject({ url: '/api/users/@me', headers: bearer(key) });
    expect(await storedUse()).toEqual([null]);
    await app.auth.flush();
    expect(await storedUse()).toEqual(['2026-11-20T10:00:00.000000Z']);
    app.clock.advance(3_599_999);
    await app.inject({ url: '/api/users/@me', headers: bearer(key) });
    await app.auth.flush();
    expect(await storedUse()).toEqual(['2026-11-20T10:00:00.000000Z']);
    app.clock.advance(1);
    await app.inject({ url: '/api/users/@me', headers: bearer(key) });
    await app.auth.close();
    expect(await storedUse()).toEqual(['2026-11-20T11:00:00.000000Z']);
  });
});

describe('console sessions', () => {
  it('can do everything in their organisation, and nothing outside', async () => {
    const cookie = await app.session();
    expect((await app.inject({ url: '/api/projects/', headers: { cookie } })).json().count).toBe(2);
    const foreign = await app.inject({ url: `/api/projects/${app.foreignProject.id}/`, headers: { cookie } });
    expect(foreign.statusCode).toBe(404);
    const bad = await app.inject({ url: '/api/projects/', headers: { cookie: 'millrace_session=nope' } });
    expect(bad.json().code).toBe('not_authenticated');
  });

  it.each([
    ['no origin at all', {}, 403],
    ['another origin', { origin: 'https://evil.example' }, 403],
    ['an opaque origin', { origin: 'null' }, 403],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:80' }, 403],
    ['a sibling site', { 'sec-fetch-site': 'same-site' }, 403],
    ['its own origin', { origin: 'http://localhost:80' }, 200],
    ['its own pages', { 'sec-fetch-site': 'same-origin' }, 200],
  ])('accepts changes only from its own pages: %s', async (_name, headers, status) => {
    const answer = await app.inject({
      method: 'PATCH',
      url: `/api/projects/${app.project.id}/`,
      headers: { cookie: await app.session(), ...headers },
      payload: { name: 'New' },
    });
    expect(answer.statusCode).toBe(status);
  });
});
