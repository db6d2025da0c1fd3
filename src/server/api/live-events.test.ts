import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { openStream } from '../../../test/support/event-stream.ts';
import { LiveHub } from '../../pipeline/live/hub.ts';
import type { Watch } from '../../pipeline/live/watch.ts';
import { liveEventRoutes } from './live-events.ts';

interface Started extends AsyncDisposable {
  readonly app: TestApp;
  readonly hub: LiveHub;
  readonly watches: () => readonly Watch[];
  readonly open: (query?: string, headers?: Record<string, string>) => ReturnType<typeof openStream>;
}

async function start(): Promise<Started> {
  const hub = new LiveHub();
  let watches: readonly Watch[] = [];
  hub.addSource((now) => void (watches = now));
  const app = await startTestApp(() => liveEventRoutes({ live: hub, heartbeatMs: 50 }));
  await app.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/api/projects/${app.project.id}/live_events/`;
  const authorization = `Bearer ${await app.key(['query:read'])}`;
  return {
    app,
    hub,
    watches: () => watches,
    open: (query = '', headers = { authorization }) => openStream(url + query, headers),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

describe('GET /api/projects/:project_id/live_events/', () => {
  it('sends events of the project, counts of skipped ones, and heartbeats in between', async () => {
    await using api = await start();
    const stream = await api.open('?stages=stored,dropped&event=a&distinct_id=p&steps=true&events_per_second=7');
    expect(stream.response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(api.watches()).toEqual([
      {
        id: 1,
        projectId: api.app.project.id,
        stages: ['stored', 'dropped'],
        event: 'a',
        distinctId: 'p',
        steps: true,
        perSecond: 7,
      },
    ]);
    api.hub.deliver({
      seen: [{ stage: 'stored', watches: [1], json: '{"stage":"stored","n":12345678901234567890}' }],
      skipped: [{ watch: 1, stage: 'stored', count: 4 }],
    });
    await stream.until('event: event\ndata: {"stage":"stored","n":12345678901234567890}\n\n');
    await stream.until('event: skipped\ndata: {"rate":{"stored":4},"slow":{}}\n\n');
    await stream.until(': heartbeat\n\n');
    stream.close();
    await expect.poll(api.watches).toEqual([]);
  });

  it.each(['?stages=stored,none', '?stages=', '?events_per_second=0', '?steps=maybe'])('refuses %s', async (query) => {
    await using api = await start();
    const { response } = await api.open(query);
    expect(response.statusCode).toBe(400);
    expect(api.watches()).toEqual([]);
  });

  it('ends with the reason when the session ends', async () => {
    await using api = await start();
    const stream = await api.open('', { cookie: await api.app.session() });
    await stream.until(': heartbeat');
    api.app.clock.advance(400 * 24 * 3_600_000);
    await stream.until('event: end\ndata: {"reason":"not_authenticated"');
    await stream.ended;
    expect(api.watches()).toEqual([]);
  });

  it('ends with the reason when the service stops, which does not wait for it', async () => {
    const api = await start();
    const stream = await api.open();
    await stream.until(': heartbeat');
    await api[Symbol.asyncDispose]();
    await stream.ended;
    expect(stream.text()).toContain('event: end\ndata: {"reason":"shutdown"');
  });

  it('streams are limited per project, and closing one frees its slot', async () => {
    await using api = await start();
    const open = await Promise.all(Array.from({ length: 10 }, () => api.open()));
    expect(open.map(({ response }) => response.statusCode)).toEqual(Array.from({ length: 10 }, () => 200));
    const refused = await api.open();
    expect([refused.response.statusCode, refused.response.headers['retry-after']]).toEqual([429, '5']);
    open[0]?.close();
    await expect.poll(async () => (await api.open()).response.statusCode).toBe(200);
  });

  it('needs query:read, and shows no other organisation’s project', async () => {
    await using api = await start();
    const authorization = `Bearer ${await api.app.key(['plugin:read'])}`;
    expect((await api.open('', { authorization })).response.statusCode).toBe(403);
    const path = `/api/projects/${api.app.foreignProject.id}/live_events/`;
    const headers = { authorization: `Bearer ${await api.app.key()}` };
    expect((await api.app.inject({ url: path, headers })).statusCode).toBe(404);
  });
});
