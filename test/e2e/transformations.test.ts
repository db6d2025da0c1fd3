/** Transformations in the real program: published form, change under load, crashes of the process that plugins run in. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAllEvents } from '../support/ledger.ts';
import { hasProc, sandboxPids } from '../support/processes.ts';
import { apiGet, personalKey, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

let server: TestServer;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;

beforeAll(async () => {
  dataDir = await tempDataDir();
  // Time enough that a busy machine does not make a memory bomb look like a long computation.
  server = await startServer(dataDir.path, { MILLRACE_SANDBOX_CPU_MS: '1500' });
});
afterAll(async () => {
  await server.terminate();
  await dataDir[Symbol.asyncDispose]();
});

const family = '/api/projects/@current/pipeline_transformation_configs/';

async function api<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ${method} ${path} to succeed, got: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

interface Config {
  readonly id: number;
  readonly error: string;
  readonly delivery_rate_24h: string;
}

async function install(name: string, index: string, manifest: object = {}): Promise<number> {
  const files = { 'plugin.json': JSON.stringify({ name, ...manifest }), 'index.js': index };
  return (await api<{ id: number }>('POST', '/api/projects/@current/plugins/', { files })).id;
}

async function enable(plugin: number, settings?: object): Promise<Config> {
  const config = await api<Config>('POST', family, { plugin });
  if (settings !== undefined) await api('PATCH', `${family}${config.id}/settings/`, settings);
  return api('PATCH', `${family}${config.id}/`, { enabled: true });
}

const retrieve = (id: number): Promise<Config> => api('GET', `${family}${id}/`);

interface Sent {
  readonly event: string;
  readonly distinct_id: string;
  readonly uuid: string;
  readonly timestamp: string;
  readonly properties: Record<string, unknown>;
}

function event(properties: Record<string, unknown> = {}, name = 'bought'): Sent {
  const timestamp = new Date().toISOString();
  return { event: name, distinct_id: 'u1', uuid: randomUUID(), timestamp, properties };
}

async function send(...batch: readonly Sent[]): Promise<void> {
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: projectKey, batch }),
  });
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'Ok' }]);
}

type Stored = Awaited<ReturnType<typeof readAllEvents>>[number];

/** The stored events of these uuids, once all of them are there. */
async function stored(sent: readonly Sent[], withinMs = 60_000): Promise<Stored[]> {
  const wanted = new Set(sent.map(({ uuid }) => uuid));
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = (await readAllEvents(server)).filter(({ id }) => wanted.has(id));
    if (found.length >= wanted.size) return found;
    if (Date.now() > deadline) throw new Error(`expected ${wanted.size} events, got: ${found.length}`);
    await sleep(100);
  }
}

async function storedOne(sent: Sent): Promise<Stored> {
  const [found] = await stored([sent]);
  if (found === undefined) throw new Error('expected the event to be stored');
  return found;
}

async function withoutConfigs(): Promise<void> {
  const { results } = await api<{ results: Config[] }>('GET', family);
  for (const { id } of results) await api('DELETE', `${family}${id}/`);
}

describe('an installed plugin', () => {
  it('changes stored events within 2 s of being enabled, keeps its storage, and can be upgraded and rolled back', async () => {
    const plugin = await install(
      'Counter',
      `export async function processEvent(event, { config, storage }) {
         const n = (await storage.get('n', 0)) + 1;
         await storage.set('n', n);
         event.properties.greeting = config.greeting + ' ' + n;
         console.log('counted', n);
         return event;
       }`,
      { config: [{ key: 'greeting', name: 'Greeting', type: 'string', default: 'hello' }] },
    );
    const { id } = await enable(plugin, { greeting: 'ciao' });
    await sleep(2000);
    const [first, second] = [event(), event()];
    await send(first);
    expect((await storedOne(first)).properties).toMatchObject({
      greeting: 'ciao 1',
      $plugins_succeeded: [`Counter (${id})`],
      $plugins_failed: [],
    });
    await send(second);
    expect((await storedOne(second)).properties).toMatchObject({ greeting: 'ciao 2' });

    const index = 'export function processEvent(event) { event.properties.greeting = "new"; return event; }';
    await api('PATCH', `/api/projects/@current/plugins/${plugin}/`, {
      files: { 'plugin.json': JSON.stringify({ name: 'Counter' }), 'index.js': index },
    });
    const pinned = event();
    await sleep(1500);
    await send(pinned);
    expect((await storedOne(pinned)).properties).toMatchObject({ greeting: 'ciao 3' });
    await api('POST', `${family}${id}/upgrade/`, {});
    await sleep(2000);
    const upgraded = event();
    await send(upgraded);
    expect((await storedOne(upgraded)).properties).toMatchObject({ greeting: 'new' });
    await api('POST', `${family}${id}/rollback/`, {});
    await sleep(2000);
    const back = event();
    await send(back);
    expect((await storedOne(back)).properties).toMatchObject({ greeting: 'ciao 4' });

    const logs = (): Promise<{ results: { message: string }[] }> => apiGet(server, `${family}${id}/logs/`);
    // Logs and counts are written within a second.
    const written = { timeout: 30_000 };
    await expect.poll(async () => (await logs()).results.map(({ message }) => message), written).toContain('counted 4');
    await expect.poll(async () => (await retrieve(id)).delivery_rate_24h, written).toBe('1');
    await withoutConfigs();
  });

  it('published on npm runs unmodified', async () => {
    const folder = new URL('../../node_modules/@posthog/user-agent-app/', import.meta.url);
    const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');
    const manifest = JSON.parse(read('plugin.json')) as { main?: string };
    const main = manifest.main ?? 'index.js';
    const files = { 'plugin.json': read('plugin.json'), [main]: read(main) };
    const { id: plugin } = await api<{ id: number }>('POST', '/api/projects/@current/plugins/', { files });
    await enable(plugin);
    await sleep(2000);
    const agent =
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36';
    const sent = event({ $useragent: agent });
    await send(sent);
    expect((await storedOne(sent)).properties).toMatchObject({ $browser: 'chrome', $os: 'Linux' });
    await withoutConfigs();
  });
});

describe('a config that misbehaves', () => {
  it.each([
    // Each event costs all of the time that it may.
    ['an endless loop', 'for (;;) {}', /took longer|time/i, 2],
    // On a busy machine the time that it may take is over before the memory is.
    ['a memory bomb', 'const all = []; for (;;) all.push(new Array(1e6).fill(1));', /memory|computed/i, 5],
    ['a promise that never settles', 'return new Promise(() => {});', /deadlocked/i, 5],
  ])(
    '%s fails only the call of that config; the next config runs, other events are stored',
    async (_name, body, cause, count) => {
      const bad = await install(`Bad ${randomUUID()}`, `export function processEvent(event) { ${body} }`);
      const good = await install(
        `Good ${randomUUID()}`,
        'export function processEvent(event) { event.properties.good = true; return event; }',
      );
      const failing = await enable(bad);
      await enable(good);
      await sleep(2000);
      const sent = Array.from({ length: count }, () => event());
      await send(...sent);
      for (const { properties } of await stored(sent)) expect(properties).toMatchObject({ good: true });
      await expect.poll(async () => (await retrieve(failing.id)).error).toMatch(cause);
      await withoutConfigs();
    },
  );

  it.skipIf(!hasProc)('kill -9 of the process that plugins run in loses no event and no storage', async () => {
    const plugin = await install(
      'Numbers',
      `export async function processEvent(event, { utils }) {
         event.properties.number = await utils.cursor.increment('n');
         return event;
       }`,
    );
    await enable(plugin);
    await sleep(1500);
    const sent: Sent[] = [];
    for (let round = 0; round < 20; round++) {
      const batch = Array.from({ length: 20 }, () => event());
      sent.push(...batch);
      await send(...batch);
      if (round % 5 === 2) for (const pid of sandboxPids(server)) process.kill(pid, 'SIGKILL');
      await sleep(100);
    }
    const numbers = (await stored(sent)).map(({ properties }) => properties['number']);
    expect(numbers.filter((number) => number === undefined)).toEqual([]);
    expect(new Set(numbers).size).toBe(sent.length);
    await withoutConfigs();
  });
});

describe('order', () => {
  it('rearranging under load changes the chain at one point: every event saw the old order or the new one', async () => {
    const tag = (name: string): Promise<number> =>
      install(
        `Tag ${name}`,
        `export function processEvent(event) {
           event.properties.order = (event.properties.order || '') + '${name}';
           return event;
         }`,
      );
    const [a, b] = [await enable(await tag('a')), await enable(await tag('b'))];
    await sleep(2000);
    const sent: Sent[] = [];
    const over = new AbortController();
    const sending = (async () => {
      while (!over.signal.aborted) {
        const batch = Array.from({ length: 50 }, () => event());
        sent.push(...batch);
        await send(...batch);
        await sleep(20);
      }
    })();
    for (let turn = 0; turn < 6; turn++) {
      await sleep(400);
      await api('PATCH', `${family}rearrange/`, { id: turn % 2 === 0 ? b.id : a.id, order: 0 });
    }
    await sleep(400);
    over.abort();
    await sending;
    const orders = new Map((await stored(sent, 60_000)).map(({ id, properties }) => [id, properties['order']]));
    const seen = sent.map(({ uuid }) => orders.get(uuid));
    expect(new Set(seen)).toEqual(new Set(['ab', 'ba']));
    const switches = seen.filter((order, index) => index > 0 && order !== seen[index - 1]).length;
    expect(switches).toBeLessThanOrEqual(6);
    await withoutConfigs();
  });
});
