import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wrongAnswers } from '../../../test/support/access-matrix.ts';
import type { TestApp } from '../../../test/support/app.ts';
import type { ApiRoute } from '../http/api-route.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { buildOpenApi } from './openapi.ts';
import { startWholeApi } from './whole-api.fixture.ts';

let app: TestApp;
let routes: ApiRoute[];
beforeAll(async () => {
  ({ app, routes } = await startWholeApi(builtInRegistry));
});
afterAll(() => app[Symbol.asyncDispose]());

describe('the whole management API', () => {
  it('refuses on every route: no key, bad, expired, missing scope, foreign and unknown projects', async () => {
    expect(routes.length).toBeGreaterThan(50);
    expect(await wrongAnswers(app, routes)).toEqual([]);
  });

  it('names the project of a path `:project_id`, which is what checks it, and ends no path in a slash', () => {
    const paths = routes.map(({ path }) => path);
    expect(paths.filter((path) => path.endsWith('/') || /^\/api\/projects\/:(?!project_id\b)/.test(path))).toEqual([]);
  });

  it('answers every path with and without slash, and under /api/environments/, the same way', async () => {
    const differing: string[] = [];
    for (const route of routes.filter(({ scope }) => scope !== 'public')) {
      const path = route.path.replaceAll(/:\w+/g, '1');
      const other = path.replace(/^\/api\/projects\/1/, '/api/environments/1');
      const answers = [path, `${path}/`, other, `${other}/`].map((url) => app.inject({ method: route.method, url }));
      const statuses = (await Promise.all(answers)).map((answer) => answer.statusCode);
      if (statuses.some((status) => status !== 401)) differing.push(`${route.method} ${path}: ${statuses.join()}`);
    }
    expect(differing).toEqual([]);
  });

  it('names everything in snake_case', () => {
    const names = new Set<string>();
    JSON.parse(JSON.stringify(buildOpenApi(routes)), (key, value: unknown) => {
      // A field may be called `properties`, too: then this is its schema, or the example of a value.
      const isField =
        typeof value !== 'object' ||
        Array.isArray(value) ||
        typeof (value as { type?: unknown } | null)?.type === 'string';
      if (key === 'properties' && !isField) for (const name of Object.keys(value as object)) names.add(name);
      if (key === 'parameters') for (const { name } of value as { name: string }[]) names.add(name);
      return value;
    });
    expect([...names].filter((name) => !/^[a-z][a-z0-9_]*$/.test(name))).toEqual([]);
  });

  it('names the allowed methods of every path when another is used', async () => {
    const wrong: string[] = [];
    const paths = Map.groupBy(routes, ({ path }) => path);
    for (const [path, known] of paths) {
      const methods = known.map(({ method }) => method as string);
      const unused = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].find((method) => !methods.includes(method));
      if (unused === undefined) continue;
      const url = path.replaceAll(/:\w+/g, '1');
      const answer = await app.inject({ method: unused as 'GET', url });
      const allowed = String(answer.headers['allow']).split(', ');
      const named = methods.every((method) => allowed.includes(method)) && !allowed.includes(unused);
      if (answer.statusCode !== 405 || !named) wrong.push(`${unused} ${url}: ${answer.statusCode} ${allowed.join()}`);
    }
    expect(wrong).toEqual([]);
  });
});
