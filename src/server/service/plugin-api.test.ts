import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { liveEventRoutes } from '../api/live-events.ts';
import { projectRoutes } from '../api/projects.ts';
import { LiveHub } from '../../pipeline/live/hub.ts';
import { createProject } from '../../stores/metadata/projects.ts';
import { createUser } from '../../stores/metadata/users.ts';
import { createPluginApi, type PluginApi } from './plugin-api.ts';

let app: TestApp;
let api: PluginApi;
beforeEach(async () => {
  app = await startTestApp((db, { auth: { forgetProject }, clock }) => [
    ...projectRoutes({ db, clock, forgetProject }),
    ...liveEventRoutes({ live: new LiveHub() }),
  ]);
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
  it('uses a read-only key of the first admin, and removes it afterwards', async () => {
    expect((await ask()).status).toBe(200);
    expect((await ask('POST')).status).toBe(403);
    expect(await keysOf(app.user.id)).toBe(1);
    await api.close();
    expect(await keysOf(app.user.id)).toBe(0);
  });

  it('continues with another key when it was revoked, or its user deleted', async () => {
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

  it("does not replace a plugin's refused key with its own", async () => {
    expect((await ask('GET', { Authorization: 'Bearer phx_wrong' })).status).toBe(401);
    expect(await keysOf(app.user.id)).toBe(0);
  });

  const get = (path: string, headers = {}) => api.call(app.project.id, { method: 'GET', path, headers, body: null });
  const detailOf = ({ body }: { body: Uint8Array }) =>
    (JSON.parse(Buffer.from(body).toString()) as { detail: string }).detail;

  it('does not support streams, and each request frees its slot', async () => {
    for (let n = 0; n < 12; n++) {
      const answer = await get('/api/projects/@current/live_events/');
      expect([answer.status, detailOf(answer)]).toEqual([406, expect.stringContaining('not support streams')]);
    }
  });

  it('reaches the API only, and neither capture, in any spelling, nor the metrics of the service', async () => {
    const paths = [
      '/batch/',
      '/metrics',
      '/api/../batch/',
      '/api/%2e%2e/batch/',
      '//other.example/api/',
      '/readyz',
      'batch/',
    ];
    for (const path of paths) expect([path, (await get(path)).status]).toEqual([path, 403]);
    const batch = { method: 'POST', path: '/batch/', headers: {}, body: '{"api_key":"phc_other","batch":[]}' } as const;
    expect(detailOf(await api.call(app.project.id, batch))).toContain('posthog.capture');
  });

  it('sees its own project only, and does not reveal where a request comes from', async () => {
    const { organizationId } = app.project;
    const other = await createProject(app.db, { organizationId, name: 'Other' }, app.clock.now());
    expect((await get(`/api/projects/${other.id}/`)).status).toBe(404);
    expect((await get('/api/projects/@current/', { 'X-Forwarded-For': '9.9.9.9', Cookie: 'a=b' })).status).toBe(200);
  });

  it('answers four concurrent calls of a project, and asks the others to wait', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => get('/api/projects/@current/')));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(4);
    expect(statuses.filter((status) => status === 429)).toHaveLength(6);
    expect((await get('/api/projects/@current/')).status).toBe(200);
  });
});
