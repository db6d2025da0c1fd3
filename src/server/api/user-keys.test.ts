import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { isGrantedScope } from '../../wire/contract/scopes.ts';
import { currentUserRoutes } from './current-user.ts';
import { personalApiKeyRoutes } from './personal-api-keys.ts';
import { scopeCatalogueRoutes, userKeyRoutes } from './routes.ts';

let app: TestApp;
let admin: { authorization: string };
beforeEach(async () => {
  app = await startTestApp((db, { auth: { forgetKey }, clock }) => [
    ...currentUserRoutes({ db }),
    ...personalApiKeyRoutes({ db, clock, forgetKey }),
    ...userKeyRoutes({ db, clock, forgetKey }),
    ...scopeCatalogueRoutes(),
  ]);
  admin = { authorization: `Bearer ${await app.key()}` };
});
afterEach(() => app[Symbol.asyncDispose]());

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('keys of other users', () => {
  it('are seen by an admin without their values, and revoked at once', async () => {
    const viewer = await app.userOf('viewer');
    const key = await app.key(['user:read'], { userId: viewer.id });
    const url = `/api/users/${viewer.id}/personal_api_keys`;
    const me = async () => (await app.inject({ url: '/api/users/@me', headers: bearer(key) })).statusCode;
    expect(await me()).toBe(200);
    const list = await app.inject({ url, headers: admin });
    expect(list.json()).toMatchObject([{ label: 'test', scopes: ['user:read'], user_id: viewer.id }]);
    expect(list.body).not.toContain(key);
    const { id } = list.json()[0];
    const revoked = await app.inject({ method: 'DELETE', url: `${url}/${id}`, headers: admin });
    expect([revoked.statusCode, await me()]).toEqual([204, 401]);
    expect((await app.inject({ method: 'DELETE', url: `${url}/${id}`, headers: admin })).statusCode).toBe(404);
    const log = await app.db.selectFrom('activity_log').select(['activity', 'item_id', 'user_id']).execute();
    expect(log).toMatchObject([{ activity: 'deleted', item_id: id, user_id: app.user.id }]);
  });

  it('are not ended by a key that may do less', async () => {
    const viewer = await app.userOf('viewer');
    await app.key(['*'], { userId: viewer.id });
    const url = `/api/users/${viewer.id}/personal_api_keys`;
    const [{ id }] = (await app.inject({ url, headers: admin })).json();
    const weak = bearer(await app.key(['personal_api_key:write']));
    expect((await app.inject({ method: 'DELETE', url: `${url}/${id}`, headers: weak })).statusCode).toBe(403);
  });
});

describe('a key', () => {
  it('is made with two scopes, used, rolled, revoked and refused; the log tells it and never a value', async () => {
    const headers = { cookie: await app.session(), 'sec-fetch-site': 'same-origin' };
    const url = '/api/personal_api_keys';
    const payload = { label: 'CI', scopes: ['user:read', 'plugin:write'] };
    const made = (await app.inject({ method: 'POST', url, headers, payload })).json();
    const me = async (key: string) => (await app.inject({ url: '/api/users/@me', headers: bearer(key) })).statusCode;
    expect(await me(made.value)).toBe(200);
    const rolled = (await app.inject({ method: 'POST', url: `${url}/${made.id}/roll`, headers })).json();
    expect([await me(made.value), await me(rolled.value)]).toEqual([401, 200]);
    expect((await app.inject({ method: 'DELETE', url: `${url}/${made.id}`, headers })).statusCode).toBe(204);
    expect(await me(rolled.value)).toBe(401);
    const log = await app.db.selectFrom('activity_log').selectAll().orderBy('id').execute();
    expect(log.map(({ scope, activity, item_id }) => [scope, activity, item_id])).toEqual([
      ['PersonalApiKey', 'created', made.id],
      ['PersonalApiKey', 'rolled', made.id],
      ['PersonalApiKey', 'deleted', made.id],
    ]);
    for (const secret of [made.value, rolled.value]) expect(JSON.stringify(log)).not.toContain(secret.slice(8, -4));
  });
});

describe('the catalogue of scopes', () => {
  it('names every scope, presets that can be given, and the roles', async () => {
    const { scopes, presets, roles } = (await app.inject({ url: '/api/scopes', headers: admin })).json();
    expect(scopes).toContainEqual({
      object: 'plugin',
      description: 'Plugins and plugin configs',
      read: 'plugin:read',
      write: 'plugin:write',
    });
    for (const { scopes: given } of presets as { scopes: string[] }[]) {
      expect(given.filter((scope) => !isGrantedScope(scope))).toEqual([]);
    }
    expect(roles.map(({ role }: { role: string }) => role)).toEqual(['viewer', 'editor', 'admin']);
    expect((await app.inject({ url: '/api/scopes' })).statusCode).toBe(401);
  });
});
