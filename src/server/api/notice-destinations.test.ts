import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { noticeDestinationRoutes } from './notice-destinations.ts';

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startTestApp((db, { clock }) => noticeDestinationRoutes({ db, clock }));
  key = await app.key();
});
afterAll(() => app[Symbol.asyncDispose]());

const base = (): string => `/api/projects/${app.project.id}/notice_destinations`;
const service = '/api/notice_destinations';
const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, as = key) =>
  app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${as}` },
    ...(payload === undefined ? {} : { payload }),
  });

const webhook = { name: 'ops', kind: 'webhook', url: 'https://hooks.example.com/T0/token?key=s3cret' };
async function make(payload: object = webhook, path = base()): Promise<{ id: string; secret: string | null }> {
  const answer = await call('POST', path, payload);
  expect(answer.statusCode).toBe(201);
  return answer.json();
}

describe('a destination', () => {
  it('returns its signing key once, and never its address', async () => {
    const answer = await call('POST', `${base()}/`, webhook);
    expect(answer.statusCode).toBe(201);
    const { secret, ...record } = answer.json();
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(record).toEqual({
      id: expect.any(String),
      project_id: app.project.id,
      name: 'ops',
      kind: 'webhook',
      url: 'https://hooks.example.com/…',
      to: [],
      events: [
        'run_completed',
        'run_failed',
        'run_waiting',
        'config_failing',
        'schedule_failing',
        'dead_letters_high',
        'tracking_plan_violated',
        'project_limited',
      ],
      enabled: true,
      created_at: '2026-11-20T10:00:00.000000Z',
      updated_at: '2026-11-20T10:00:00.000000Z',
    });
    const found = await call('GET', new URL(String(answer.headers['location'])).pathname);
    expect(found.json()).toEqual(record);
    const log = await app.db.selectFrom('activity_log').selectAll().where('item_id', '=', record.id).execute();
    expect(log).toHaveLength(1);
    const seen = JSON.stringify([log, found.json(), (await call('GET', base())).json(), app.logged]);
    expect(seen).not.toMatch(/s3cret|token/);
    expect(seen).not.toContain(secret);
  });

  it('keeps a given key, and fields omitted in an update', async () => {
    const { id, secret } = await make({ ...webhook, secret: 'one of my own choice' });
    expect(secret).toBe('one of my own choice');
    const changed = await call('PATCH', `${base()}/${id}`, { enabled: false, events: ['run_failed'] });
    expect(changed.json()).toMatchObject({ name: 'ops', enabled: false, events: ['run_failed'] });
    const row = await app.db.selectFrom('notice_destinations').select('address').where('id', '=', id).execute();
    expect(JSON.parse(row[0]?.address ?? '')).toEqual({ url: webhook.url, secret: 'one of my own choice' });
  });

  it('of the service receives notifications about the machine, and is not one of a project', async () => {
    const { id } = await make({ name: 'admins', kind: 'email', to: ['ops@example.com'] }, service);
    const found = (await call('GET', `${service}/${id}`)).json();
    expect(found).toMatchObject({
      project_id: null,
      url: null,
      to: ['ops@example.com'],
      events: ['disk_low', 'lag_high'],
    });
    expect((await call('GET', `${base()}/${id}`)).statusCode).toBe(404);
    const wrong = await call('POST', service, { name: 'x', kind: 'slack', url: webhook.url, events: ['run_failed'] });
    expect(wrong.statusCode).toBe(400);
  });

  it.each([
    [{ ...webhook, url: undefined }, 'url'],
    [{ ...webhook, url: 'ftp://example.com/' }, 'url'],
    [{ ...webhook, url: 'https://user:password@example.com/' }, 'url'],
    [{ ...webhook, to: ['ops@example.com'] }, 'to'],
    [{ ...webhook, kind: 'slack', secret: 'a key that it cannot use' }, 'secret'],
    [{ ...webhook, secret: 'short' }, 'secret'],
    [{ name: 'x', kind: 'email' }, 'to'],
    [{ name: 'x', kind: 'email', to: ['ops@example.com\r\nBcc: all@example.com'] }, 'to'],
    [{ name: 'x', kind: 'email', to: ['Ops <ops@example.com>'] }, 'to'],
    [{ name: 'x', kind: 'pager', url: webhook.url }, 'kind'],
  ])('refuses %j and names the field', async (payload, attr) => {
    const answer = await call('POST', base(), payload);
    expect([answer.statusCode, answer.json().attr]).toEqual([400, attr]);
  });

  it('is not seen from other projects, and changed only with the scope for it', async () => {
    const { id } = await make();
    const elsewhere = `/api/projects/${app.otherProject.id}/notice_destinations/${id}`;
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      expect((await call(method, elsewhere, method === 'PATCH' ? {} : undefined)).statusCode).toBe(404);
    }
    const reader = await app.key(['notice:read']);
    expect((await call('GET', `${base()}/${id}`, undefined, reader)).statusCode).toBe(200);
    expect((await call('POST', `${base()}/${id}/test`, undefined, reader)).statusCode).toBe(403);
    expect((await call('GET', service, undefined, reader)).statusCode).toBe(403);
  });

  it('takes a test, which waits in the outbox for a process that sends', async () => {
    const { id } = await make();
    const answer = await call('POST', `${base()}/${id}/test/`);
    expect(answer.statusCode).toBe(202);
    expect(answer.json()).toMatchObject({ destination: id, state: 'queued', attempts: 0, attempts_max: 1 });
    const found = await call('GET', `${base()}/${id}/deliveries/${answer.json().id}`);
    expect(found.json()).toEqual(answer.json());
    expect((await call('GET', `${base()}/${id}/deliveries`)).json()).toMatchObject({
      count: 1,
      results: [found.json()],
    });
    const other = await make();
    expect((await call('GET', `${base()}/${other.id}/deliveries/${answer.json().id}`)).statusCode).toBe(404);
  });

  it('goes with what is on its way to it, and with its project', async () => {
    const { id } = await make();
    await call('POST', `${base()}/${id}/test`);
    expect((await call('DELETE', `${base()}/${id}`)).statusCode).toBe(204);
    expect((await call('GET', `${base()}/${id}`)).statusCode).toBe(404);
    expect(await app.db.selectFrom('notices').select('id').where('destination_id', '=', id).execute()).toEqual([]);
  });
});
