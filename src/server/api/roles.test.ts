import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../../test/support/app.ts';
import { operationsOf, rolesLetIn, type Operation } from '../../../test/support/role-matrix.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { buildOpenApi } from './openapi.ts';
import { startWholeApi } from './whole-api.fixture.ts';

let app: TestApp;
let operations: Operation[];
beforeAll(async () => {
  const whole = await startWholeApi(builtInRegistry);
  app = whole.app;
  operations = operationsOf(buildOpenApi(whole.routes)).filter(({ role }) => role !== undefined);
});
afterAll(() => app[Symbol.asyncDispose]());

/** What a viewer may do that is not reading: with what is the viewer's own. */
const ownAffairs = new Set([
  'POST /api/personal_api_keys',
  'DELETE /api/personal_api_keys/{id}',
  'POST /api/personal_api_keys/{id}/roll',
  'DELETE /api/users/@me/sessions',
  'DELETE /api/users/@me/sessions/{session}',
]);

/** What takes an admin. */
const adminOnly = new Set([
  'GET /api/status',
  'POST /api/notice_destinations',
  'PATCH /api/notice_destinations/{id}',
  'DELETE /api/notice_destinations/{id}',
  'POST /api/notice_destinations/{id}/test',
  'POST /api/users',
  'PATCH /api/users/{user_id}',
  'DELETE /api/users/{user_id}',
  'POST /api/users/{user_id}/sign_in_link',
  'GET /api/users/{user_id}/sessions',
  'DELETE /api/users/{user_id}/sessions',
  'DELETE /api/users/{user_id}/sessions/{session}',
  'GET /api/users/{user_id}/personal_api_keys',
  'DELETE /api/users/{user_id}/personal_api_keys/{id}',
  'POST /api/projects',
  'DELETE /api/projects/{project_id}',
  'PUT /api/projects/{project_id}/retention',
  'PATCH /api/projects/{project_id}/limits',
  'PATCH /api/projects/{project_id}/reset_token',
  'POST /api/projects/{project_id}/reset_token',
  'GET /api/projects/{project_id}/erasures',
  'POST /api/projects/{project_id}/erasures',
  'GET /api/projects/{project_id}/erasures/{id}',
  'GET /api/projects/{project_id}/erasures/{id}/certificate',
  'GET /api/projects/{project_id}/erasures/public_key',
  'GET /api/projects/{project_id}/erasures/kept_out',
  'POST /api/projects/{project_id}/erasures/dry_run',
  'POST /api/projects/{project_id}/erasures/kept_out/remove',
  'DELETE /api/projects/{project_id}/erasures/kept_out',
  'POST /api/projects/{project_id}/erasures/{id}/cancel',
  'POST /api/projects/{project_id}/historical_migrations/{id}/approve',
  'POST /api/projects/{project_id}/historical_migrations/{id}/reject',
]);

/** Says on its own who may do what, so that a route that declares too little is found. */
function expectedRoles({ method, path }: Operation): readonly string[] {
  const call = `${method} ${path}`;
  if (adminOnly.has(call)) return ['admin'];
  return method === 'GET' || ownAffairs.has(call) ? ['viewer', 'editor', 'admin'] : ['editor', 'admin'];
}

describe('roles, on every operation of the API', () => {
  it('a viewer can change nothing and an editor nothing of the organisation, by session and by key', async () => {
    expect(operations.length).toBeGreaterThan(100);
    const wrong: unknown[] = [];
    for (const operation of operations) {
      const expected = expectedRoles(operation);
      const { bySession, byKey } = await rolesLetIn(app, operation);
      const agree = [bySession, byKey, [operation.role]].every((got) => got[0] === expected[0]);
      const all = bySession.length === expected.length && byKey.length === expected.length;
      if (!agree || !all) wrong.push({ operation, expected, bySession, byKey });
    }
    expect(wrong).toEqual([]);
  });

  it('names every exception by an operation that there is', () => {
    const calls = new Set(operations.map(({ method, path }) => `${method} ${path}`));
    expect([...adminOnly, ...ownAffairs].filter((call) => !calls.has(call))).toEqual([]);
  });
});
