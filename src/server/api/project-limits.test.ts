import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { listLimits } from '../../stores/metadata/project-limits.ts';
import { readConfigRevision } from '../../stores/metadata/config-revision.ts';
import { projectLimitRoutes } from './project-limits.ts';

let app: TestApp;
const limitDefaults = { events_per_second: 500, bytes_per_second: 0, backlog_bytes: 1_000_000 };
const none = { events_per_second: null, bytes_per_second: null, backlog_bytes: null };

beforeAll(async () => {
  app = await startTestApp((db, { clock }) => projectLimitRoutes({ db, clock, limitDefaults }));
});
afterAll(() => app[Symbol.asyncDispose]());
beforeEach(() => app.db.deleteFrom('project_limits').execute());

async function call(method: 'GET' | 'PATCH', body?: object, key?: string) {
  return await app.inject({
    method,
    url: `/api/projects/${app.project.id}/limits/`,
    headers: { authorization: `Bearer ${key ?? (await app.key())}` },
    ...(body && { payload: body }),
  });
}

it('shows the defaults of the service until a project has its own limits', async () => {
  const answer = await call('GET', undefined, await app.key(['project:read']));
  expect([answer.statusCode, answer.json()]).toEqual([200, { ...none, defaults: limitDefaults, updated_at: null }]);
});

it('changes only the limits that are given: 0 removes one, null returns it to the default', async () => {
  const before = await readConfigRevision(app.db);
  const first = await call('PATCH', { events_per_second: 2000, backlog_bytes: 0 });
  const updated_at = expect.any(String);
  const changed = { ...none, events_per_second: 2000, backlog_bytes: 0 };
  expect([first.statusCode, first.json()]).toEqual([200, { ...changed, defaults: limitDefaults, updated_at }]);
  expect(await listLimits(app.db)).toEqual(new Map([[app.project.id, changed]]));
  const second = await call('PATCH', { events_per_second: null, bytes_per_second: 1 });
  expect(second.json()).toMatchObject({ events_per_second: null, bytes_per_second: 1, backlog_bytes: 0 });
  // Processes read limits again when it changes.
  expect(await readConfigRevision(app.db)).toBe(before + 2);
});

it('records who changed which limit', async () => {
  await app.db.deleteFrom('activity_log').execute();
  await call('PATCH', { events_per_second: 10 });
  const [entry] = await app.db.selectFrom('activity_log').selectAll().execute();
  expect(entry).toMatchObject({ scope: 'ProjectLimits', item_id: String(app.project.id), user_id: app.user.id });
  expect(JSON.parse(entry?.changes ?? '')).toEqual([
    { field: 'events_per_second', action: 'created', before: null, after: 10 },
  ]);
});

it.each([
  ['a negative limit', { events_per_second: -1 }, 'events_per_second'],
  ['a fraction', { bytes_per_second: 1.5 }, 'bytes_per_second'],
  ['a text', { backlog_bytes: 'much' }, 'backlog_bytes'],
  ['more than any service has', { backlog_bytes: 1e15 }, 'backlog_bytes'],
])('refuses %s with 400 and changes nothing', async (_, body, attr) => {
  const answer = await call('PATCH', { events_per_second: 7, ...body });
  expect([answer.statusCode, answer.json().attr]).toEqual([400, attr]);
  expect(await listLimits(app.db)).toEqual(new Map());
});

it('a project cannot raise its own limits: a key limited to projects, a reader and an editor are refused', async () => {
  const ofProject = await app.key(['*'], { projectIds: [app.project.id] });
  const refused = await call('PATCH', { events_per_second: 0 }, ofProject);
  expect([refused.statusCode, refused.json().detail]).toEqual([
    403,
    'API keys limited to projects must not change limits.',
  ]);
  expect((await call('GET', undefined, ofProject)).statusCode).toBe(200);
  for (const [scopes, role] of [
    [['project:read'], 'admin'],
    [['*'], 'editor'],
    [['*'], 'viewer'],
  ] as const) {
    const key = await app.key(scopes, { userId: (await app.userOf(role)).id });
    expect((await call('PATCH', { events_per_second: 0 }, key)).statusCode).toBe(403);
  }
  expect(await listLimits(app.db)).toEqual(new Map());
});
