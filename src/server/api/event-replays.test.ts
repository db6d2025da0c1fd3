import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addApp, changeApp } from '../../../test/support/jobs.ts';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { activityLogRoutes } from './activity-log.ts';
import { eventReplayRoutes } from './event-replays.ts';

// Real: HTTP server, keys and scopes, metadata (SQLite). No worker runs here.

let app: TestApp;
let headers: { authorization: string };
let path: string;
let exporter: number;
let both: number;
let neither: number;
beforeAll(async () => {
  app = await startTestApp((db, { clock }) => [...eventReplayRoutes({ db, clock }), ...activityLogRoutes({ db })]);
  headers = { authorization: `Bearer ${await app.key()}` };
  path = `/api/projects/${app.project.id}/event_replays/`;
  const add = (...methods: string[]) => addApp(app.db, app.project.id, { capabilities: { methods } });
  [exporter, both, neither] = [
    await add('exportEvents'),
    await add('onEvent', 'exportEvents'),
    await add('processEvent'),
  ];
});
afterAll(() => app[Symbol.asyncDispose]());

const start = (payload: object, more: object = {}) =>
  app.inject({ method: 'POST', url: path, headers: { ...headers, ...more }, payload });

describe('replays of stored events', () => {
  it('a started replay is queued with what was requested, listed, in the activity log, and can be cancelled until it has ended', async () => {
    const selection = {
      events: ['order *'],
      after: '2024-01-01',
      properties: [{ key: 'total', operator: 'gte', value: 5 }],
    };
    const started = await start({ plugin_config: exporter, selection, events_per_second: 50 });
    expect(started.statusCode).toBe(201);
    const record = started.json<{ id: string }>();
    expect(record).toMatchObject({
      state: 'queued',
      request: {
        plugin_config: exporter,
        method: 'exportEvents',
        selection: { ...selection, properties: [{ key: 'total', operator: 'gte', value: '5' }] },
        events_per_second: 50,
      },
      progress: null,
      result: null,
    });
    expect(started.headers['location']).toMatch(new RegExp(`${path}${record.id}/$`));
    const listed = await app.inject({ url: path, headers });
    expect(listed.json()).toMatchObject({ count: 1, results: [record] });
    expect((await app.inject({ url: `${path}${record.id}/`, headers })).json()).toEqual(record);
    const cancel = () => app.inject({ method: 'POST', url: `${path}${record.id}/cancel/`, headers });
    expect((await cancel()).json()).toMatchObject({ state: 'cancelled' });
    expect((await cancel()).json()).toMatchObject({ state: 'cancelled' });
    await app.db.updateTable('tasks').set({ state: 'done' }).execute();
    const late = await cancel();
    expect([late.statusCode, late.json()]).toMatchObject([
      409,
      { detail: 'Expected an event replay that is queued or running, got: one that is done.' },
    ]);
    const log = await app.inject({ url: `/api/projects/${app.project.id}/activity_log/?scope=EventReplay`, headers });
    expect(log.json<{ results: { activity: string }[] }>().results.map(({ activity }) => activity)).toEqual([
      'cancelled',
      'started',
    ]);
  });

  it('a repeated request with an idempotency key starts one replay', async () => {
    const key = { 'idempotency-key': 'once' };
    const bodies = [await start({ plugin_config: exporter }, key), await start({ plugin_config: exporter }, key)];
    const [first, second] = bodies.map((reply) => reply.json<{ id: string }>().id);
    expect(second).toBe(first);
  });

  it('at most five replays of a project are open', async () => {
    const replies = [];
    for (let tries = 0; tries < 6; tries += 1) replies.push(await start({ plugin_config: exporter }));
    const last = replies.at(-1);
    expect([last?.statusCode, last?.json()]).toMatchObject([
      409,
      { detail: expect.stringMatching(/^Expected at most 5 event replays .* Wait until one has ended, or cancel one/) },
    ]);
    await app.db.deleteFrom('tasks').execute();
  });

  it.each([
    [() => ({ plugin_config: 999 }), 'plugin_config', 'Expected the id of a plugin config of this project, got: 999'],
    [() => ({ plugin_config: neither }), 'plugin_config', /a plugin with onEvent or exportEvents, got "App"/],
    [() => ({ plugin_config: both }), 'method', /"App" has onEvent and exportEvents.*got: none/],
    [() => ({ plugin_config: exporter, method: 'onEvent' }), 'method', /has exportEvents.*got: onEvent/],
    [() => ({ plugin_config: exporter, selection: { after: 'soon' } }), 'selection__after', /ISO 8601.*got: soon/],
    [() => ({ plugin_config: exporter, events_per_second: 0 }), 'events_per_second', /1/],
  ])('an invalid request is rejected, naming the field (%#)', async (body, attr, detail) => {
    const reply = await start(body());
    expect([reply.statusCode, reply.json()]).toMatchObject([400, { attr }]);
    expect(reply.json<{ detail: string }>().detail).toMatch(detail);
  });

  it('a disabled config is rejected, and so are keys without the scope and other projects', async () => {
    await changeApp(app.db, both, { enabled: 0 }, app.clock.now());
    expect((await start({ plugin_config: both, method: 'onEvent' })).json()).toMatchObject({
      attr: 'plugin_config',
      detail: expect.stringMatching(/^Expected an enabled config.* Enable it first\.$/),
    });
    const weak = { authorization: `Bearer ${await app.key(['plugin:read'])}` };
    expect((await start({ plugin_config: exporter }, weak)).statusCode).toBe(403);
    const other = `/api/projects/${app.otherProject.id}/event_replays/`;
    const reply = await app.inject({ method: 'POST', url: other, headers, payload: { plugin_config: exporter } });
    expect([reply.statusCode, reply.json()]).toMatchObject([400, { attr: 'plugin_config' }]);
  });
});
