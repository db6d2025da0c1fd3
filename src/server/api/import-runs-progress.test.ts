import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createRun } from '../../imports/run/run-store.ts';
import { cancelRun, pauseRun, resumeRun } from '../../imports/run/run-transitions.ts';
import { runOptions } from '../../../test/support/runs.ts';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';

interface Watcher {
  readonly response: IncomingMessage;
  /** Everything so far. */
  text(): string;
  /** Resolves when this many events of progress have come. */
  events(count: number): Promise<readonly Record<string, unknown>[]>;
  readonly ended: Promise<void>;
  close(): void;
}

async function watch(api: ImportsApp, id: number, run: string, headers: Record<string, string> = {}): Promise<Watcher> {
  const { port } = api.app.app.server.address() as AddressInfo;
  const path = `${api.base}/pipeline_import_apps_configs/${id}/runs/${run}/progress/`;
  const asked = request({ port, path, headers: { authorization: api.authorization, ...headers }, agent: false });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  asked.once('response', resolve).once('error', reject).end();
  const response = await promise;
  let text = '';
  const waiting: (() => void)[] = [];
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    for (const look of waiting) look();
  });
  const ended = new Promise<void>((done) => response.once('close', done));
  const parsed = () =>
    [...text.matchAll(/^event: progress\n(?:id: .*\n)?data: (.*)\n\n/gm)].map(
      ([, data = '']) => JSON.parse(data) as Record<string, unknown>,
    );
  return {
    response,
    text: () => text,
    ended,
    events: (count) =>
      new Promise((done) => {
        const look = (): void => void (parsed().length >= count && done(parsed()));
        waiting.push(look);
        look();
      }),
    close: () => asked.destroy(),
  };
}

async function startListening(): Promise<{ api: ImportsApp; id: number; run: string }> {
  const api = await startImportsApp();
  await api.app.app.listen({ port: 0, host: '127.0.0.1' });
  const id = await api.config();
  const { db, clock, project } = api.app;
  const owner = { projectId: project.id, configId: id, source: 'test-source' };
  const { id: run } = await createRun(db, { ...owner, options: runOptions, now: clock.now() });
  return { api, id, run };
}

describe('the stream of progress', () => {
  it('begins with the current run, reports every change, and ends with the run', async () => {
    const { api: own, id, run } = await startListening();
    await using api = own;
    const { db, clock } = api.app;
    const watcher = await watch(api, id, run);
    expect(watcher.response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(watcher.response.headers['cache-control']).toBe('no-store');
    await watcher.events(1);
    await pauseRun(db, run);
    await watcher.events(2);
    await resumeRun(db, run);
    await watcher.events(3);
    await cancelRun(db, run, clock.now());
    await watcher.ended;
    const states = (await watcher.events(4)).map(({ state }) => state);
    expect(states).toEqual(['queued', 'paused', 'queued', 'cancelled']);
    expect(watcher.text()).toContain('id: final\n');
  });

  it('a client that has received the end gets no more; any other Last-Event-ID is harmless', async () => {
    const { api: own, id, run } = await startListening();
    await using api = own;
    await cancelRun(api.app.db, run, api.app.clock.now());
    const done = await watch(api, id, run, { 'last-event-id': 'final' });
    expect(done.response.statusCode).toBe(204);
    const other = await watch(api, id, run, { 'last-event-id': '17; drop' });
    await other.ended;
    expect(await other.events(1)).toHaveLength(1);
  });

  it('streams are bounded by project, and closing one frees its place', async () => {
    const { api: own, id, run } = await startListening();
    await using api = own;
    const open = await Promise.all(Array.from({ length: 20 }, () => watch(api, id, run)));
    expect(open.every(({ response }) => response.statusCode === 200)).toBe(true);
    const refused = await watch(api, id, run);
    expect(refused.response.statusCode).toBe(429);
    expect(refused.response.headers['retry-after']).toBe('5');
    for (const each of open) each.close();
    await expect.poll(async () => statusOf(api, id, run)).toBe(200);
  });

  it('does not keep the server from stopping', async () => {
    const { api, id, run } = await startListening();
    const watcher = await watch(api, id, run);
    await watcher.events(1);
    await api[Symbol.asyncDispose]();
    await watcher.ended;
    expect(api.app.logged.map((line) => line['msg'])).not.toContain(expect.stringContaining('cut off'));
  });

  it('HEAD answers at once, and other runs are not found', async () => {
    const { api: own, id, run } = await startListening();
    await using api = own;
    const path = `/pipeline_import_apps_configs/${id}/runs`;
    expect((await api.call('HEAD', `${path}/${run}/progress/`)).status).toBe(200);
    expect((await api.call('GET', `${path}/nonesuch/progress/`)).status).toBe(404);
  });
});

async function statusOf(api: ImportsApp, id: number, run: string): Promise<number | undefined> {
  const { response, close } = await watch(api, id, run);
  close();
  return response.statusCode;
}
