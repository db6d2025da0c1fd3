import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../test/support/app.ts';
import { projectRoutes } from '../api/projects.ts';
import { createUser } from '../metadata/users.ts';
import { createPluginApi, type PluginApi } from './plugin-api.ts';

let app: TestApp;
let api: PluginApi;
beforeEach(async () => {
  app = await startTestApp((db, { auth: { forgetProject }, clock }) => projectRoutes({ db, clock, forgetProject }));
  api = createPluginApi({ db: app.db, clock: app.clock, inject: (request) => app.inject(request) });
});
afterEach(async () => {
  await api.close();
  await app[Symbol.asyncDispose]();
});

const ask = (method: 'GET' | 'POST' = 'GET', headers = {}) => {
  const path = `/api/projects/@current/${method === 'GET' ? '' : 'reset_token/'}`;
  return api.call(app.project.id, { method, path, headers, body: method === 'GET' ? null : '{}' });
};
const keysOf = async (userId: number) =>
  (await app.db.selectFrom('personal_api_keys').select('id').where('user_id', '=', userId).execute()).length;

describe('the API for plugins', () => {
  it('acts with a key of the first admin that only looks, and leaves none behind', async () => {
    expect((await ask()).status).toBe(200);
    expect((await ask('POST')).status).toBe(403);
    expect(await keysOf(app.user.id)).toBe(1);
    await api.close();
    expect(await keysOf(app.user.id)).toBe(0);
  });

  it('goes on with another key when somebody has revoked it, or deleted the user that had it', async () => {
    expect((await ask()).status).toBe(200);
    await app.db.deleteFrom('personal_api_keys').execute();
    app.clock.advance(5_001);
    expect((await Promise.all([ask(), ask(), ask()])).map(({ status }) => status)).toEqual([200, 200, 200]);
    const { organizationId } = app.project;
    const grace = { organizationId, firstName: 'Grace', email: 'grace@example.com', role: 'admin' } as const;
    const { id } = await createUser(app.db, grace, app.clock.now());
    await app.db.deleteFrom('users').where('id', '=', app.user.id).execute();
    app.clock.advance(5_001);
    expect((await ask()).status).toBe(200);
    expect(await keysOf(id)).toBe(1);
  });

  it("does not put its own key in the place of a plugin's that is refused", async () => {
    expect((await ask('GET', { Authorization: 'Bearer phx_wrong' })).status).toBe(401);
    expect(await keysOf(app.user.id)).toBe(0);
  });
});
