import { allScopes, hasScope } from '../../src/wire/contract/scopes.ts';
import type { ApiRoute } from '../../src/server/http/api-route.ts';
import { everyScope, type TestApp } from './app.ts';

/** One request that must be refused: what came is compared with what must come. */
export interface AccessFinding {
  readonly call: string;
  readonly caller: string;
  readonly got: string;
  readonly expected: string;
}

interface Caller {
  readonly name: string;
  readonly key?: string;
  /** Value of `:project_id`. */
  readonly project: string;
  readonly expected: string;
}

/** Calls every route as everybody who may not; an empty list means that all were refused as they must be. */
export async function wrongAnswers(app: TestApp, routes: readonly ApiRoute[]): Promise<AccessFinding[]> {
  const findings: AccessFinding[] = [];
  const keyOfOther = await app.key(everyScope, { projectIds: [app.otherProject.id] });
  const keyOfAll = await app.key();
  for (const route of routes) {
    for (const caller of await callersOf(app, route, keyOfAll, keyOfOther)) {
      const url = route.path.replace(':project_id', caller.project).replaceAll(/:\w+/g, '1');
      const headers = caller.key === undefined ? {} : { authorization: `Bearer ${caller.key}` };
      const answer = await app.inject({ method: route.method, url, headers });
      const { code, detail } = answer.json() as { code: string; detail: string };
      const got = `${answer.statusCode} ${code} ${detail}`;
      const requestId = answer.headers['x-request-id'] === undefined ? ' without X-Request-Id' : '';
      if (got + requestId !== caller.expected) {
        findings.push({
          call: `${route.method} ${url}`,
          caller: caller.name,
          got: got + requestId,
          expected: caller.expected,
        });
      }
    }
  }
  return findings;
}

async function callersOf(app: TestApp, route: ApiRoute, keyOfAll: string, keyOfOther: string): Promise<Caller[]> {
  if (route.scope === 'public') return [];
  const project = String(app.project.id);
  const invalid = '401 authentication_failed Personal API key found in request Authorization header is invalid.';
  const callers: Caller[] = [
    { name: 'no key', project, expected: '401 not_authenticated Authentication credentials were not provided.' },
    { name: 'an unknown key', key: 'phx_unknown', project, expected: invalid },
    { name: 'a project key', key: app.project.apiToken, project, expected: invalid },
    {
      name: 'an expired key',
      key: await app.key(everyScope, { expiresAt: '2020-01-01T00:00:00Z' }),
      project,
      expected: invalid,
    },
  ];
  const { scope } = route;
  if (scope !== 'any-key') {
    const others = allScopes.filter((each) => !hasScope([each], scope));
    const expected = `403 permission_denied API key missing required scope '${scope}'`;
    callers.push({ name: 'a key with every other scope', key: await app.key(others), project, expected });
  }
  if (!route.path.includes(':project_id')) return callers;
  const expected = '404 not_found Project not found.';
  callers.push({ name: 'a key of another project', key: keyOfOther, project, expected });
  for (const wrong of [
    String(app.foreignProject.id),
    '999999',
    'abc',
    '1.5',
    '-1',
    '0x1',
    '@other',
    '99999999999999999999',
  ]) {
    callers.push({ name: `project ${wrong}`, key: keyOfAll, project: wrong, expected });
  }
  return callers;
}
