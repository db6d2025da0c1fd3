import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { addApp } from '../../../test/support/jobs.ts';
import { createProject } from '../../stores/metadata/projects.ts';
import { readSpread, refuseKeeping } from '../../stores/metadata/spread-project.ts';
import { projectRoutes } from './projects.ts';

let app: TestApp;
let headers: { authorization: string };
beforeEach(async () => {
  app = await startTestApp((db, { auth, clock }) => projectRoutes({ db, clock, forgetProject: auth.forgetProject }));
  headers = { authorization: `Bearer ${await app.key()}` };
});
afterEach(() => app[Symbol.asyncDispose]());

describe('projects', () => {
  it('pages the projects of the organisation with absolute links', async () => {
    await createProject(app.db, { organizationId: app.project.organizationId, name: 'Third' }, app.clock.now());
    const page = async (query: string) => {
      const { count, next, previous, results } = (await app.inject({ url: `/api/projects/${query}`, headers })).json();
      return { count, next, previous, names: results.map((each: { name: string }) => each.name) };
    };
    const base = 'http://localhost:80/api/projects/';
    expect(await page('')).toEqual({ count: 3, next: null, previous: null, names: ['First', 'Second', 'Third'] });
    expect(await page('?limit=1')).toEqual({
      count: 3,
      next: `${base}?limit=1&offset=1`,
      previous: null,
      names: ['First'],
    });
    expect(await page('?limit=1&offset=1&x=y')).toEqual({
      count: 3,
      next: `${base}?limit=1&offset=2&x=y`,
      previous: `${base}?limit=1&x=y`,
      names: ['Second'],
    });
    expect(await page('?limit=2&offset=2')).toEqual({
      count: 3,
      next: null,
      previous: `${base}?limit=2`,
      names: ['Third'],
    });
    expect(await page('?offset=9')).toMatchObject({ count: 3, next: null, names: [] });
  });

  it.each(['limit=0', 'limit=1001', 'limit=', 'limit=x', 'limit=1.5', 'offset=-1', 'offset=x', 'offset=1e3'])(
    'refuses ?%s with 400',
    async (query) => {
      const answer = await app.inject({ url: `/api/projects/?${query}`, headers });
      expect([answer.statusCode, answer.json().attr]).toEqual([400, query.split('=')[0]]);
    },
  );

  it('shows a key that is limited to projects only those', async () => {
    const key = await app.key(['*'], { projectIds: [app.otherProject.id] });
    const limited = { authorization: `Bearer ${key}` };
    const list = (await app.inject({ url: '/api/projects', headers: limited })).json();
    expect([list.count, list.results[0].id]).toEqual([1, app.otherProject.id]);
    const payload = { name: 'More' };
    expect((await app.inject({ method: 'POST', url: '/api/projects', headers: limited, payload })).statusCode).toBe(
      403,
    );
  });

  it('creates, retrieves, updates, gives a new key, deletes', async () => {
    const payload = { name: ' Shop ', timezone: 'europe/paris' };
    const created = await app.inject({ method: 'POST', url: '/api/projects/', headers, payload });
    const project = created.json();
    expect([created.statusCode, created.headers['location']]).toEqual([
      201,
      `http://localhost:80/api/projects/${project.id}/`,
    ]);
    expect(Object.keys(project)).toEqual([
      'id',
      'uuid',
      'name',
      'organization',
      'api_token',
      'timezone',
      'spread',
      'created_at',
    ]);
    expect(project).toMatchObject({
      name: 'Shop',
      timezone: 'Europe/Paris',
      created_at: '2026-11-20T10:00:00.000000Z',
    });
    const url = `/api/projects/${project.id}/`;
    expect((await app.inject({ url, headers })).json()).toEqual(project);
    const renamed = await app.inject({
      method: 'PATCH',
      url,
      headers,
      payload: { name: 'Store', api_token: 'phc_own' },
    });
    expect(renamed.json()).toEqual({ ...project, name: 'Store' });
    for (const method of ['POST', 'PATCH'] as const) {
      const before = (await app.inject({ url, headers })).json().api_token;
      const rotated = await app.inject({ method, url: `${url}reset_token/`, headers });
      expect([rotated.statusCode, rotated.json().id]).toEqual([200, project.id]);
      expect(rotated.json().api_token).toMatch(/^phc_/);
      expect(rotated.json().api_token).not.toBe(before);
    }
    expect((await app.inject({ method: 'DELETE', url, headers })).statusCode).toBe(204);
    expect((await app.inject({ url, headers })).statusCode).toBe(404);
    expect((await app.inject({ method: 'DELETE', url, headers })).statusCode).toBe(404);
  });

  it.each([
    ['no name', {}, 'required', 'name'],
    ['an empty name', { name: '' }, 'blank', 'name'],
    ['a blank name', { name: '  ' }, 'blank', 'name'],
    ['a null name', { name: null }, 'null', 'name'],
    ['a number as name', { name: 5 }, 'invalid_input', 'name'],
    ['a long name', { name: 'x'.repeat(201) }, 'max_length', 'name'],
    ['no such zone', { name: 'x', timezone: 'Mars/Olympus' }, 'invalid_input', 'timezone'],
    ['an offset as zone', { name: 'x', timezone: '+01:00' }, 'invalid_input', 'timezone'],
  ])('refuses to create with %s', async (_name, payload, code, attr) => {
    const answer = await app.inject({ method: 'POST', url: '/api/projects/', headers, payload });
    expect([answer.statusCode, answer.json().code, answer.json().attr]).toEqual([400, code, attr]);
  });
});

describe('a project that is spread over slots', () => {
  const spread = (over: unknown) =>
    app.inject({ method: 'PATCH', url: `/api/projects/${app.project.id}/`, headers, payload: { spread: over } });
  const addSlots = (count: number) =>
    app.db
      .insertInto('slots')
      .values(Array.from({ length: count - 1 }, (_, n) => ({ slot: n + 1, epoch: 0, owner: null, lease_until: 0 })))
      .execute();

  it('is spread over at most the existing slots, and capture learns the old and new values', async () => {
    await addSlots(8);
    expect((await spread(4)).json()).toMatchObject({ id: app.project.id, spread: 4 });
    expect(await readSpread(app.db, app.project.id)).toMatchObject({ spread: 4, before: 1 });
    expect((await spread(1)).json().spread).toBe(1);
    const row = await app.db.selectFrom('projects').selectAll().where('id', '=', app.project.id).executeTakeFirst();
    // Events may wait in four slots, and what several slots once changed is not taken for one slot's own again.
    expect(row).toMatchObject({ spread: 1, spread_before: 4, spread_max: 4 });
  });

  it('is refused more slots than there are, and anything but a number', async () => {
    const refused = await spread(2);
    expect([refused.statusCode, refused.json().attr, refused.json().code]).toEqual([409, 'spread', 'conflict']);
    expect(refused.json().detail).toContain('only a cluster spreads projects');
    for (const invalid of [0, -1, 1.5, 'four', null]) expect((await spread(invalid)).statusCode).toBe(400);
  });

  it.each([
    ['first-time-events', null],
    ['counter', 'exports.processEvent = (event, { storage }) => storage.get(event.event)'],
  ])('and %s, which keeps values between events, exclude each other by name', async (slug, code) => {
    await addSlots(4);
    const config = await addApp(app.db, app.project.id, { code: code ?? '' });
    await app.db.updateTable('plugins').set({ slug, latest_version_id: null }).where('slug', 'like', 'app-%').execute();
    const version = code === null ? { plugin_version_id: null } : {};
    await app.db
      .updateTable('plugin_configs')
      .set({ family: 'transformation', ...version })
      .execute();
    const refused = await spread(2);
    expect([refused.statusCode, refused.json().code]).toEqual([409, 'conflict']);
    expect(refused.json().detail).toContain(`(config ${config})`);
    await app.db.updateTable('plugin_configs').set({ enabled: 0 }).execute();
    expect((await spread(2)).statusCode).toBe(200);
    await app.db.updateTable('plugin_configs').set({ enabled: 1 }).execute();
    await expect(refuseKeeping(app.db, app.project.id)).rejects.toThrow(`(config ${config})`);
    await expect(refuseKeeping(app.db, app.otherProject.id)).resolves.toBeUndefined();
  });
});
