import { describe, expect, it } from 'vitest';
import { Type } from 'typebox';
import { programVersion } from '../../base/program-version.ts';
import { apiErrors } from '../../wire/contract/errors.ts';
import { pageQuerySchema, pageSchema } from '../../wire/contract/pagination.ts';
import { stated } from '../../wire/contract/stated.ts';
import { startTestApp } from '../../../test/support/app.ts';
import type { ApiRoute } from '../http/api-route.ts';
import { buildOpenApi, openApiRoutes } from './openapi.ts';
import { personalApiKeyRoutes } from './personal-api-keys.ts';
import { projectRoutes } from './projects.ts';
import { currentUserRoutes } from './current-user.ts';

const thing = Type.Object({ id: Type.Integer(), name: Type.Union([Type.String(), Type.Null()]) });
const route = (more: Partial<ApiRoute>): ApiRoute => ({
  method: 'GET',
  path: '/api/projects/:project_id/things/:id',
  scope: 'plugin:read',
  tag: 'things',
  summary: 'A thing',
  params: Type.Object({ id: Type.Integer({ description: 'Id of the thing.' }) }),
  responses: { 200: thing },
  handler: async () => ({ status: 200 }),
  ...more,
});

describe('buildOpenApi', () => {
  it('describes path, scope, parameters and answers of an operation', () => {
    const document = JSON.parse(JSON.stringify(buildOpenApi([route({})])));
    const operation = document.paths['/api/projects/{project_id}/things/{id}'].get;
    expect(operation).toMatchObject({
      operationId: 'projects_things_retrieve',
      security: [{ personalApiKey: ['plugin:read'] }],
      'x-scope': 'plugin:read',
    });
    expect(
      operation.parameters.map((each: { name: string; schema: { type: string } }) => [each.name, each.schema.type]),
    ).toEqual([
      ['project_id', 'string'],
      ['id', 'integer'],
    ]);
    expect(Object.keys(operation.responses)).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '408',
      '413',
      '421',
      '429',
      '500',
      '503',
    ]);
    expect(operation.responses[200].content['application/json'].example).toEqual({ id: 1, name: 'text' });
  });

  it('gives examples that the stated format allows', () => {
    const timezone = Type.String({ minLength: 1, ...stated.timeZone });
    const document = JSON.parse(
      JSON.stringify(buildOpenApi([route({ method: 'POST', body: Type.Object({ timezone }) })])),
    );
    const { requestBody } = document.paths['/api/projects/{project_id}/things/{id}'].post;
    expect(requestBody.content['application/json'].example).toEqual({ timezone: 'Europe/Paris' });
  });

  it('tells lists from records and names every operation once', () => {
    const list = route({ path: '/api/things', responses: { 200: pageSchema(thing) }, query: pageQuerySchema });
    const create = route({ path: '/api/things', method: 'POST', body: thing, scope: 'public' });
    const document = JSON.parse(JSON.stringify(buildOpenApi([list, create])));
    expect(document.paths['/api/things'].get.operationId).toBe('things_list');
    expect(document.paths['/api/things'].post).toMatchObject({ operationId: 'things_create', security: [] });
    expect(() => buildOpenApi([list, list])).toThrow('things_list');
  });

  it('an action on many and the same on one have different ids', () => {
    const many = route({ path: '/api/things/replay', method: 'POST' });
    const one = route({ path: '/api/things/:id/replay', method: 'POST' });
    const { paths } = JSON.parse(JSON.stringify(buildOpenApi([many, one])));
    expect(paths['/api/things/replay'].post.operationId).toBe('things_replay_create');
    expect(paths['/api/things/{id}/replay'].post.operationId).toBe('things_replay_create_2');
  });

  it('has the version of the program', () => {
    expect(buildOpenApi([])).toMatchObject({ info: { version: programVersion() } });
  });

  it('lists every error of the catalogue with its status', () => {
    const document = JSON.parse(JSON.stringify(buildOpenApi([])));
    for (const [code, { status }] of Object.entries(apiErrors)) {
      const response = document.components.responses[`Error${status}`];
      expect(response.content['application/json'].examples[code].value.code).toBe(code);
    }
  });

  it('is served to anybody and refers to nothing that it does not hold', async () => {
    await using app = await startTestApp((db, { auth, clock }) => {
      const { forgetKey, forgetProject } = auth;
      const own = [...projectRoutes({ db, clock, forgetProject }), ...personalApiKeyRoutes({ db, clock, forgetKey })];
      const routes = [...own, ...currentUserRoutes({ db })];
      return [...routes, ...openApiRoutes(routes)];
    });
    const answer = await app.inject({ url: '/api/openapi.json' });
    expect(answer.statusCode).toBe(200);
    const { components } = answer.json();
    for (const [, kind = '', name = ''] of answer.body.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)) {
      expect(Object.keys(components[kind])).toContain(name);
    }
  });
});
