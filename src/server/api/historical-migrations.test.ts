import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { findApprovedAgreement } from '../../stores/metadata/find-approved-agreement.ts';
import { historicalMigrationRoutes } from './historical-migrations.ts';

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startTestApp((db, { clock }) => historicalMigrationRoutes({ db, clock }));
  key = await app.key();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const filed = { source: 'old tool', method: 'import app', total_events: 50_000_000, events_per_second: 2000 };
const base = (): string => `/api/projects/${app.project.id}/historical_migrations`;
type Method = 'GET' | 'POST' | 'PATCH';
const call = (
  method: Method,
  url: string,
  payload?: object,
  auth: Record<string, string> = { authorization: `Bearer ${key}` },
) => app.inject({ method, url, headers: auth, ...(payload === undefined ? {} : { payload }) });
async function file(more: object = {}): Promise<string> {
  const answer = await call('POST', `${base()}/`, { ...filed, ...more });
  expect(answer.statusCode).toBe(201);
  return answer.json().id;
}

describe('filing', () => {
  it('makes an agreement that can be read, listed and found under Location', async () => {
    const answer = await call('POST', base(), { ...filed, note: 'in December', state: 'approved' });
    expect(answer.json()).toEqual({
      ...filed,
      id: expect.any(String),
      project_id: app.project.id,
      state: 'filed',
      note: 'in December',
      created_at: '2026-11-20T10:00:00.000000Z',
      decided_at: null,
    });
    const found = await call('GET', new URL(String(answer.headers['location'])).pathname);
    expect(found.json()).toEqual(answer.json());
    const list = await call('GET', `${base()}/?limit=1`);
    expect(list.json()).toMatchObject({ count: expect.any(Number), results: [expect.any(Object)] });
  });

  it.each([
    [{ source: '' }, 'source'],
    [{ total_events: 0 }, 'total_events'],
    [{ events_per_second: 'fast' }, 'events_per_second'],
    [{ method: null }, 'method'],
  ])('refuses %j', async (more, attr) => {
    const answer = await call('POST', base(), { ...filed, ...more });
    expect([answer.statusCode, answer.json().attr]).toEqual([400, attr]);
  });

  it('can be changed while it is filed, and not afterwards', async () => {
    const id = await file();
    const changed = await call('PATCH', `${base()}/${id}`, {
      events_per_second: 500,
      state: 'approved',
      project_id: 99,
    });
    expect(changed.json()).toMatchObject({ events_per_second: 500, state: 'filed', project_id: app.project.id });
    expect((await call('PATCH', `${base()}/${id}`, {})).statusCode).toBe(200);
    await call('POST', `${base()}/${id}/reject`, { note: 'too fast' });
    const late = await call('PATCH', `${base()}/${id}`, { events_per_second: 10 });
    expect([late.statusCode, late.json().detail]).toEqual([409, 'expected the agreement to be filed, got: rejected']);
    expect((await call('PATCH', `${base()}/${id}`, {})).statusCode).toBe(409);
  });

  it('belongs to its project', async () => {
    const id = await file();
    const other = await call('GET', `/api/projects/${app.otherProject.id}/historical_migrations/${id}`);
    expect(other.statusCode).toBe(404);
    const decided = await call('POST', `/api/projects/${app.otherProject.id}/historical_migrations/${id}/approve`);
    expect(decided.statusCode).toBe(404);
  });
});

describe('deciding', () => {
  it('approves, and the agreed speed is found for the project alone; ending takes it back', async () => {
    const id = await file({ events_per_second: 1234 });
    const approved = await call('POST', `${base()}/${id}/approve/`);
    expect(approved.json()).toMatchObject({ state: 'approved', decided_at: expect.any(String) });
    expect(await findApprovedAgreement(app.db, app.project.id)).toEqual({ id, eventsPerSecond: 1234 });
    expect(await findApprovedAgreement(app.db, app.otherProject.id)).toBeUndefined();
    expect((await call('POST', `${base()}/${id}/end`)).json()).toMatchObject({ state: 'ended' });
    expect(await findApprovedAgreement(app.db, app.project.id)).toBeUndefined();
  });

  it.each([
    ['approve', 'approve', 'filed', 'approved'],
    ['approve', 'reject', 'filed', 'approved'],
    ['reject', 'approve', 'filed', 'rejected'],
    ['reject', 'end', 'approved', 'rejected'],
  ])('after %s, %s is a conflict', async (first, second, wanted, state) => {
    const id = await file();
    await call('POST', `${base()}/${id}/${first}`);
    const answer = await call('POST', `${base()}/${id}/${second}`);
    expect([answer.statusCode, answer.json().detail]).toEqual([
      409,
      `expected the agreement to be ${wanted}, got: ${state}`,
    ]);
  });

  it('two decisions at once: one wins', async () => {
    const id = await file();
    const answers = await Promise.all(
      ['approve', 'reject', 'approve'].map((verb) => call('POST', `${base()}/${id}/${verb}`)),
    );
    expect(answers.map((answer) => answer.statusCode).sort()).toEqual([200, 409, 409]);
  });

  it('is for operators: not a narrow key, not a key of one project, but a console session', async () => {
    const id = await file();
    const narrow = await app.key(['historical_migration:write']);
    const ofProject = await app.key(['*'], { projectIds: [app.project.id] });
    for (const denied of [narrow, ofProject]) {
      const answer = await call('POST', `${base()}/${id}/approve`, {}, { authorization: `Bearer ${denied}` });
      expect([answer.statusCode, answer.json().code]).toEqual([403, 'permission_denied']);
    }
    const session = { cookie: await app.session(), 'sec-fetch-site': 'same-origin' };
    expect((await call('POST', `${base()}/${id}/approve`, {}, session)).statusCode).toBe(200);
  });
});
