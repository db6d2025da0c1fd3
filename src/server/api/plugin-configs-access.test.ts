import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { familyPaths, pluginFamilies } from '../../wire/contract/plugins.ts';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';

let configs: ConfigsApp;
beforeAll(async () => {
  configs = await startConfigsApp();
});
afterAll(() => configs[Symbol.asyncDispose]());

/** Every operation of the specification, and the scope that it needs. */
const operations = [
  ['GET', '', 'plugin:read'],
  ['POST', '', 'plugin:write'],
  ['GET', '/1', 'plugin:read'],
  ['PATCH', '/1', 'plugin:write'],
  ['PUT', '/1', 'plugin:write'],
  ['DELETE', '/1', 'plugin:write'],
  ['GET', '/1/activity', 'plugin:read'],
  ['GET', '/1/frontend', 'plugin:read'],
  ['POST', '/1/job', 'plugin:write'],
  ['PATCH', '/rearrange', 'plugin:write'],
  ['GET', '/1/settings', 'plugin:read'],
  ['PUT', '/1/settings', 'plugin:write'],
  ['PATCH', '/1/settings', 'plugin:write'],
  ['POST', '/1/settings/compare', 'plugin:write'],
] as const;

describe.each(pluginFamilies)('access to %s configs', (family) => {
  const url = (project: number | string, path: string): string =>
    `/api/projects/${project}/${familyPaths[family]}${path}`;

  it.each(operations)('%s %s needs %s in a project of the key', async (method, path, scope) => {
    const { inject, key, project, foreignProject, otherProject } = configs.app;
    const ask = async (projectId: number | string, authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization: `Bearer ${authorization}` };
      const { statusCode, body } = await inject({ method, url: url(projectId, path), headers });
      return { status: statusCode, body };
    };
    expect((await ask(project.id)).status).toBe(401);
    expect((await ask(project.id, 'phx_wrong')).status).toBe(401);
    const lesser = scope === 'plugin:write' ? 'plugin:read' : 'project:write';
    const refused = await ask(project.id, await key([lesser]));
    expect(refused.status).toBe(403);
    expect(refused.body).toContain(`'${scope}'`);
    const granted = await key([scope]);
    expect((await ask(foreignProject.id, granted)).status).toBe(404);
    expect((await ask(999, granted)).status).toBe(404);
    expect((await ask(otherProject.id, await key([scope], { projectIds: [project.id] }))).status).toBe(404);
    expect([200, 201, 204, 400, 404]).toContain((await ask(project.id, granted)).status);
  });

  it('a config is reached through its own project only, in every way', async () => {
    const id = await configs.create(family, { name: 'mine' });
    const { inject, key, otherProject, project } = configs.app;
    const headers = { authorization: `Bearer ${await key()}` };
    const withId = operations.filter(([, path]) => path.startsWith('/1'));
    for (const [method, path] of withId) {
      const payload = method === 'GET' || method === 'DELETE' ? {} : { payload: { plugin: configs.pluginOf(family) } };
      const other = await inject({
        method,
        url: url(otherProject.id, path.replace('1', String(id))),
        headers,
        ...payload,
      });
      expect(other.statusCode).toBe(404);
    }
    const moved = await inject({
      method: 'PATCH',
      url: url(otherProject.id, '/rearrange'),
      headers,
      payload: { id, order: 0 },
    });
    expect(moved.statusCode).toBe(400);
    const alias = `/api/environments/${project.id}/${familyPaths[family]}/${id}/`;
    expect((await inject({ url: alias, headers })).json()).toMatchObject({ id, name: 'mine' });
    expect((await configs.activity(id)).map(({ activity }) => activity)).toEqual(['created']);
  });
});
