import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { personalApiKeyRoutes } from './personal-api-keys.ts';
import { currentUserRoutes } from './current-user.ts';

let app: TestApp;
let headers: { authorization: string };
beforeEach(async () => {
  app = await startTestApp((db, { auth, clock }) => [
    ...personalApiKeyRoutes({ db, clock, forgetKey: auth.forgetKey }),
    ...currentUserRoutes({ db }),
  ]);
  headers = { authorization: `Bearer ${await app.key()}` };
});
afterEach(() => app[Symbol.asyncDispose]());

const keys = '/api/personal_api_keys/';
const create = (payload: object, by = headers) => app.inject({ method: 'POST', url: keys, headers: by, payload });

describe('personal API keys', () => {
  it('shows the value once, and the key works with its scopes and projects', async () => {
    const made = await create({ label: 'CI', scopes: ['user:read'], scoped_teams: [app.project.id] });
    expect(made.statusCode).toBe(201);
    const { value, ...record } = made.json();
    expect(value).toMatch(/^phx_/);
    expect(record).toEqual({
      id: record.id,
      label: 'CI',
      mask_value: `phx_...${value.slice(-4)}`,
      scopes: ['user:read'],
      scoped_teams: [app.project.id],
      scoped_organizations: null,
      user_id: app.user.id,
      created_at: '2026-11-20T10:00:00.000000Z',
      expires_at: null,
      last_used_at: null,
      last_rolled_at: null,
    });
    const list = await app.inject({ url: keys, headers });
    expect(list.json()[0]).toEqual(record);
    expect(list.body).not.toContain(value);
    expect((await app.inject({ url: `${keys}${record.id}`, headers })).json()).toEqual(record);
    const me = await app.inject({ url: '/api/users/@me/', headers: { authorization: `Bearer ${value}` } });
    expect(me.json()).toMatchObject({ id: app.user.id, email: 'ada@example.com', team: { id: app.project.id } });
    const stored = JSON.stringify(await app.db.selectFrom('personal_api_keys').selectAll().execute());
    expect(stored).not.toContain(value);
  });

  it('a misspelt limit of a key is answered with the name of the intended field', async () => {
    const made = await create({ label: 'CI', scopes: ['user:read'], scoped_projects: [app.project.id] });
    expect([made.statusCode, made.json().scoped_teams]).toEqual([201, null]);
    expect(made.headers['x-warning']).toBe(
      'ignored "scoped_projects" (did you mean "scoped_teams"?); expected only label, scopes, scoped_teams, expires_at',
    );
    const right = await create({ label: 'CI', scopes: ['user:read'], scoped_teams: [app.project.id] });
    expect([right.statusCode, right.headers['x-warning']]).toEqual([201, undefined]);
    const roll = (payload: object) =>
      app.inject({ method: 'POST', url: `${keys}${right.json().id}/roll/`, headers, payload });
    expect((await roll({ scopes: ['plugin:read'] })).headers['x-warning']).toContain('ignored "scopes"');
    expect((await roll({})).headers['x-warning']).toBeUndefined();
  });

  it('tells which key a request is made with', async () => {
    const { value, ...record } = (await create({ label: 'Own', scopes: ['plugin:read'] })).json();
    const current = await app.inject({ url: `${keys}@current/`, headers: { authorization: `Bearer ${value}` } });
    expect(current.json()).toEqual(record);
    const session = await app.inject({ url: `${keys}@current/`, headers: { cookie: await app.session() } });
    expect(session.statusCode).toBe(404);
  });

  it('makes at most ten per user, also at once', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => create({ label: 'x', scopes: ['*'] })));
    expect(answers.filter((answer) => answer.statusCode === 201)).toHaveLength(9);
    const refused = answers.find((answer) => answer.statusCode === 400);
    expect(refused?.json()).toMatchObject({ code: 'invalid_input', attr: null });
  });

  it.each([
    ['no label', { scopes: ['*'] }, 'required', 'label'],
    ['a long label', { label: 'x'.repeat(41), scopes: ['*'] }, 'max_length', 'label'],
    ['a blank label', { label: ' ', scopes: ['*'] }, 'blank', 'label'],
    ['no scopes', { label: 'x' }, 'required', 'scopes'],
    ['empty scopes', { label: 'x', scopes: [] }, 'invalid_input', 'scopes'],
    ['an unknown scope', { label: 'x', scopes: ['plugin:read', 'moon:read'] }, 'invalid_input', 'scopes'],
    ['a scope that is no text', { label: 'x', scopes: [5] }, 'invalid_input', 'scopes__0'],
    ['an unknown project', { label: 'x', scopes: ['*'], scoped_teams: [999] }, 'does_not_exist', 'scoped_teams'],
    ['a past end', { label: 'x', scopes: ['*'], expires_at: '2020-01-01T00:00:00Z' }, 'invalid_input', 'expires_at'],
    ['no time as end', { label: 'x', scopes: ['*'], expires_at: 'soon' }, 'invalid_input', 'expires_at'],
  ])('refuses %s', async (_name, payload, code, attr) => {
    const answer = await create(payload);
    expect([answer.statusCode, answer.json().code, answer.json().attr]).toEqual([400, code, attr]);
  });

  it('does not take a project of another organisation', async () => {
    const answer = await create({ label: 'x', scopes: ['*'], scoped_teams: [app.foreignProject.id] });
    expect(answer.json().code).toBe('does_not_exist');
  });

  it('is no way to more scopes, projects or time than the key itself has', async () => {
    const expiresAt = '2026-12-01T00:00:00Z';
    const scopes = ['personal_api_key:write', 'plugin:write'];
    const more = { projectIds: [app.project.id], expiresAt };
    const narrow = { authorization: `Bearer ${await app.key(scopes, more)}` };
    const fits = { label: 'x', scopes: ['plugin:read'], scoped_teams: [app.project.id], expires_at: expiresAt };
    expect((await create(fits, narrow)).statusCode).toBe(201);
    const excesses = [
      { scopes: ['*'] },
      { scopes: ['project:read'] },
      { scoped_teams: null },
      { scoped_teams: [] },
      { scoped_teams: [app.project.id, app.otherProject.id] },
      { expires_at: null },
      { expires_at: '2026-12-01T00:00:01Z' },
    ];
    for (const excess of excesses) {
      const answer = await create({ ...fits, ...excess }, narrow);
      expect([excess, answer.statusCode, answer.json().code]).toEqual([excess, 403, 'permission_denied']);
    }
    const { id } = (await create({ label: 'wide', scopes: ['*'] })).json();
    const roll = await app.inject({ method: 'POST', url: `${keys}${id}/roll`, headers: narrow });
    expect(roll.statusCode).toBe(403);
  });

  it('deletes itself and keys that may do no more, and no other', async () => {
    const expiresAt = '2026-12-01T00:00:00Z';
    const own = { scopes: ['personal_api_key:write'], scoped_teams: [app.project.id], expires_at: expiresAt };
    const { id, value } = (await create({ label: 'own', ...own })).json();
    const remove = async (target: string, by: { authorization: string }) =>
      (await app.inject({ method: 'DELETE', url: `${keys}${target}`, headers: by })).statusCode;
    const narrow = { authorization: `Bearer ${value}` };
    for (const excess of [{ scopes: ['*'] }, { scoped_teams: null }, { expires_at: null }]) {
      const wide = (await create({ label: 'wide', ...own, ...excess })).json();
      expect([excess, await remove(wide.id, narrow)]).toEqual([excess, 403]);
      expect((await app.inject({ url: `${keys}${wide.id}`, headers })).statusCode).toBe(200);
      expect(await remove(wide.id, headers)).toBe(204);
    }
    const equal = (await create({ label: 'equal', ...own })).json();
    expect(await remove(equal.id, narrow)).toBe(204);
    expect(await remove(id, narrow)).toBe(204);
    expect(await remove(id, narrow)).toBe(401);
    expect((await app.inject({ url: `${keys}${id}`, headers })).statusCode).toBe(404);
  });

  it('rolls and deletes own keys, and does not find those of others', async () => {
    const { id, value } = (await create({ label: 'x', scopes: ['*'] })).json();
    const rolled = await app.inject({ method: 'POST', url: `${keys}${id}/roll/`, headers });
    expect([rolled.statusCode, rolled.json().id]).toEqual([200, id]);
    expect(rolled.json().last_rolled_at).toBe('2026-11-20T10:00:00.000000Z');
    expect(rolled.json().value).not.toBe(value);
    for (const wrong of ['nothing', '00000000-0000-0000-0000-000000000000']) {
      expect((await app.inject({ url: `${keys}${wrong}`, headers })).statusCode).toBe(404);
      expect((await app.inject({ method: 'DELETE', url: `${keys}${wrong}`, headers })).statusCode).toBe(404);
      expect((await app.inject({ method: 'POST', url: `${keys}${wrong}/roll`, headers })).statusCode).toBe(404);
    }
    expect((await app.inject({ method: 'DELETE', url: `${keys}${id}`, headers })).statusCode).toBe(204);
    expect((await app.inject({ url: `${keys}${id}`, headers })).statusCode).toBe(404);
  });
});
