import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { sampleEventRoutes } from './sample-events.ts';

let app: TestApp;
let key: string;
const event = { event: 'sign up', distinct_id: 'ann', properties: { plan: 'pro', ['<b>']: '\u202e' } };

beforeAll(async () => {
  app = await startTestApp((db, { clock }) => sampleEventRoutes({ db, clock }));
  key = await app.key(['plugin:write']);
});
afterAll(() => app[Symbol.asyncDispose]());

async function call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object, bearer = key) {
  const answer = await app.inject({
    method,
    url: `/api/projects/${app.project.id}/sample_events/${path}`,
    headers: { authorization: `Bearer ${bearer}` },
    ...(payload === undefined ? {} : { payload }),
  });
  return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json() };
}

describe('sample events', () => {
  it('are kept, listed by name, found, changed and deleted', async () => {
    const b = (await call('POST', '', { name: 'b: Über', event })).body;
    const a = (await call('POST', '', { name: 'a', event })).body;
    expect(b).toMatchObject({
      name: 'b: Über',
      event,
      created_by: app.user.id,
      created_at: '2026-11-20T10:00:00.000000Z',
    });
    const names = async (query: string) =>
      (await call('GET', query)).body.results.map(({ name }: { name: string }) => name);
    expect(await names('')).toEqual(['a', 'b: Über']);
    expect(await names('?search=ÜBER')).toEqual(['b: Über']);
    expect((await call('GET', '?limit=1')).body).toMatchObject({ count: 2, next: expect.stringContaining('offset=1') });
    expect((await call('PATCH', `${a.id}/`, { name: 'c' })).body).toMatchObject({ name: 'c', event });
    expect((await call('PATCH', `${a.id}/`, { event: { ...event, event: 'x' } })).body.event.event).toBe('x');
    expect((await call('GET', `${a.id}/`)).body).toMatchObject({ name: 'c', event: { event: 'x' } });
    expect((await call('DELETE', `${a.id}/`)).status).toBe(204);
    expect((await call('DELETE', `${a.id}/`)).status).toBe(404);
    expect(await names('')).toEqual(['b: Über']);
  });

  it('have unique names, are events, and belong to one project', async () => {
    const { body } = await call('POST', '', { name: 'taken', event });
    const other = (await call('POST', '', { name: 'other', event })).body;
    expect((await call('POST', '', { name: 'taken', event })).body).toMatchObject({ code: 'unique', attr: 'name' });
    expect((await call('PATCH', `${other.id}/`, { name: 'taken' })).body).toMatchObject({
      code: 'unique',
      attr: 'name',
    });
    expect((await call('PATCH', `${body.id}/`, { name: 'taken' })).status).toBe(200);
    expect((await call('POST', '', { name: 'x', event: { event: 'x' } })).body).toMatchObject({ attr: 'event' });
    expect((await call('POST', '', { name: '', event })).status).toBe(400);
    expect((await call('GET', '99999999999/')).status).toBe(404);
    const url = `/api/projects/${app.otherProject.id}/sample_events/${body.id}/`;
    expect((await app.inject({ url, headers: { authorization: `Bearer ${key}` } })).statusCode).toBe(404);
    const reader = await app.key(['plugin:read']);
    expect((await call('POST', '', { name: 'y', event }, reader)).status).toBe(403);
    expect((await call('GET', '', undefined, reader)).status).toBe(200);
  });
});
