import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { organizationRoutes } from './routes.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp((db) => organizationRoutes({ db }));
});
afterAll(() => app[Symbol.asyncDispose]());

async function get(id: string, key: string) {
  const answer = await app.inject({ url: `/api/organizations/${id}/`, headers: { authorization: `Bearer ${key}` } });
  return { status: answer.statusCode, body: answer.json() as Record<string, unknown> };
}

it('is found as @current and by its id, with its projects', async () => {
  const key = await app.key(['organization:read']);
  const { status, body } = await get('@current', key);
  const { organizationId } = app.project;
  expect(status).toBe(200);
  expect(body).toEqual({
    id: organizationId,
    name: 'Own',
    created_at: expect.any(String) as string,
    role: 'admin',
    membership_level: 8,
    projects: [app.project, app.otherProject].map(({ id, uuid, name, timezone }) => ({
      id,
      uuid,
      organization: organizationId,
      name,
      timezone,
    })),
  });
  expect((await get(organizationId, key)).body).toEqual(body);
});

it('shows no key of a project, and none that the caller may not see', async () => {
  const key = await app.key(['organization:read'], { projectIds: [app.otherProject.id] });
  const { body } = await get('@current', key);
  expect(body['projects']).toMatchObject([{ id: app.otherProject.id }]);
  expect(JSON.stringify(body)).not.toContain(app.otherProject.apiToken);
  const { id: userId } = await app.userOf('viewer');
  expect((await get('@current', await app.key(['*'], { userId }))).body).toMatchObject({
    role: 'viewer',
    membership_level: 1,
  });
});

it('is refused without its scope, and as another organisation', async () => {
  expect((await get('@current', await app.key(['project:read']))).status).toBe(403);
  const foreign = await get(app.foreignProject.organizationId, await app.key());
  expect([foreign.status, foreign.body]).toMatchObject([404, { code: 'not_found', detail: 'Organization not found.' }]);
});
