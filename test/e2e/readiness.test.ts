/** What /readyz says of a process that is there and does nothing: real program, real children, stopped by a signal. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { hasProc, runningStorePid, sandboxPids } from '../support/processes.ts';
import { freePort, personalKey, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

interface Ready {
  readonly httpStatus: number;
  readonly checks: Readonly<
    Record<string, { readonly ok: boolean; readonly detail?: string; readonly waiting?: object }>
  >;
}

it.skipIf(!hasProc)(
  'a suspended child is reported within seconds, with the work waiting for it, and cleared when it continues',
  async () => {
    await using data = await tempDataDir();
    const server = await startServer(data.path);
    await enablePlugin(server);
    // One of the main thread, which has looked at the plugin, and one of the pipeline.
    await untilReady(server, async () => {
      await send(server);
      return sandboxPids(server).length === 2;
    });
    const stopped = sandboxPids(server);
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    await send(server);
    const hanging = await ready(server);
    expect(hanging).toMatchObject({ httpStatus: 503, checks: { pipeline: { ok: false }, event_store: { ok: true } } });
    expect(hanging.checks['pipeline']?.detail).toMatch(/plugin process \(\d+\) has not answered for \d+ s/);
    await delay(1000);
    const [metrics, { checks }] = await Promise.all([metricsOf(server), ready(server)]);
    expect(checks['event_log']).toMatchObject({
      ok: true,
      detail: expect.stringMatching(/^\d+ events of the live lane are waiting, the oldest for \d+ s\.$/) as unknown,
      waiting: { live: { events: expect.any(Number) as unknown }, historical: { events: 0, oldest_seconds: 0 } },
    });
    expect(metrics).toMatch(/^millrace_buffer_oldest_seconds\{lane="live"\} [1-9]/m);
    for (const pid of stopped) process.kill(pid, 'SIGCONT');
    await untilReady(server, async () => (await ready(server)).httpStatus === 200);

    const store = runningStorePid(server);
    process.kill(store, 'SIGSTOP');
    expect(await ready(server)).toMatchObject({
      httpStatus: 503,
      checks: { event_store: { ok: false }, pipeline: { ok: true } },
    });
    process.kill(store, 'SIGCONT');
    await untilReady(server, async () => (await ready(server)).httpStatus === 200);
    expect((await server.terminate()).code).toBe(0);
  },
);

it('after its first response a starting service refuses and breaks no connection', async () => {
  await using data = await tempDataDir();
  const port = await freePort();
  const over = new AbortController();
  const starting = startServer(data.path, { MILLRACE_PORT: String(port) }).finally(() => over.abort());
  starting.catch(() => undefined);
  const seen: string[] = [];
  while (!over.signal.aborted) {
    const answer = await livez(port).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
    if (seen.length > 0 || answer !== 'ECONNREFUSED') seen.push(answer);
    await delay(2);
  }
  const server = await starting;
  expect(new Set(seen)).toEqual(new Set(['starting', 'started']));
  expect((await server.terminate()).code).toBe(0);
});

/** Over a separate connection. */
async function livez(port: number): Promise<'starting' | 'started'> {
  const request = get({ host: '127.0.0.1', port, path: '/livez', agent: false });
  const [response] = await once(request, 'response');
  return (await text(response)).includes('"starting":true') ? 'starting' : 'started';
}

it('a full lane makes the service not ready', async () => {
  await using data = await tempDataDir();
  const server = await startServer(data.path, { MILLRACE_BACKLOG_EVENTS_MAX: '1000' });
  // It is ended and started again after some ten seconds: what is sent until then stays in the log.
  const store = runningStorePid(server);
  process.kill(store, 'SIGSTOP');
  await untilReady(server, async () => (await send(server, 1000)) === 503);
  const full = await ready(server);
  expect(full).toMatchObject({ httpStatus: 503, checks: { event_log: { ok: false } } });
  expect(full.checks['event_log']?.detail).toMatch(/live lane is full: capture refuses its events/);
  await server.kill();
  // Standing still it would not notice that the service is gone.
  process.kill(store, 'SIGKILL');
});

async function ready(server: TestServer): Promise<Ready> {
  const answer = await fetch(`${server.url}/readyz?verbose`, { signal: AbortSignal.timeout(10_000) });
  return { ...((await answer.json()) as Ready), httpStatus: answer.status };
}

async function metricsOf(server: TestServer): Promise<string> {
  return (await fetch(`${server.url}/metrics`)).text();
}

async function untilReady(server: TestServer, isDone: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!(await isDone())) {
    if (Date.now() > deadline) throw new Error(`expected it within 120 s; ${server.output()}`);
    await delay(100);
  }
}

async function send(server: TestServer, events = 1): Promise<number> {
  const batch = Array.from({ length: events }, () => ({ event: 'seen', distinct_id: 'u1', uuid: randomUUID() }));
  const body = JSON.stringify({ api_key: projectKey, batch });
  return (await fetch(`${server.url}/batch/`, { method: 'POST', body })).status;
}

/** Installs and enables one that takes every event as it is. */
async function enablePlugin(server: TestServer): Promise<void> {
  const code = 'export const processEvent = async (event) => event;';
  const api = async (method: string, path: string, body: object): Promise<{ id: number }> => {
    const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' };
    const url = `${server.url}/api/projects/@current/${path}`;
    return (await (await fetch(url, { method, headers, body: JSON.stringify(body) })).json()) as { id: number };
  };
  const files = { 'plugin.json': '{"name":"Probe"}', 'index.js': code };
  const { id: plugin } = await api('POST', 'plugins/', { files });
  const { id } = await api('POST', 'pipeline_transformation_configs/', { plugin });
  await api('PATCH', `pipeline_transformation_configs/${id}/`, { enabled: true });
}
