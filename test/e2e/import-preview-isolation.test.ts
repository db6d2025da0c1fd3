/**
 * Real: the built program as a process, its processes of previews and preflights, SQLite, chDB, files, HTTP. Doubled: a Kafka broker, which
 * announces more than anybody can hold. What is observed is that capture answers beside it, and how much memory the capturing process has.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileBroker, hostileFiles, type HostileSource } from '../support/hostile-sources.ts';
import { createImportConfig, writeRecords } from '../support/import-runs.ts';
import { hasProc, previewPids, peakMemory, sandboxPids } from '../support/processes.ts';
import {
  apiGet,
  personalKey,
  projectKey,
  startServer,
  tempDataDir,
  untilStored,
  type TestServer,
} from '../support/server.ts';

let server: TestServer;
let sources: Readonly<Record<string, HostileSource>>;
let stop: () => Promise<void>;
let sent = 0;
let dataDir = '';

const records = Array.from({ length: 20 }, (_, n) => ({
  event: 'signed up',
  distinct_id: `new-${n}`,
  uuid: `0194a7e2-0000-7000-8000-0000000000${10 + n}`,
  timestamp: '2026-01-01T00:00:00Z',
}));

async function created({ text }: Answer): Promise<{ readonly id: number }> {
  return JSON.parse(text) as { readonly id: number };
}

beforeAll(async () => {
  await using opened = new AsyncDisposableStack();
  const { path } = opened.use(await tempDataDir());
  dataDir = path;
  const dir = join(path, 'import-files');
  await mkdir(dir);
  const broker = opened.use(await hostileBroker());
  sources = { ...(await hostileFiles(dir)), 'a broker that announces 2 GB': broker.source };
  server = await startServer(path, {
    MILLRACE_OUTBOUND_ALLOW: '127.0.0.1',
    MILLRACE_IMPORT_PREVIEW_MEMORY_BYTES_MAX: String(256 * 1024 ** 2),
  });
  opened.defer(() => server.kill());
  const owned = opened.move();
  stop = () => owned.disposeAsync();
}, 180_000);
afterAll(() => stop());

/** One event after the other, each acknowledged, until `over` is done; not so many that they are all that the machine works on. */
async function captureBeside<T>(over: Promise<T>): Promise<T> {
  const done = { is: false };
  const settled = over.finally(() => (done.is = true));
  settled.catch(() => undefined);
  do {
    sent += 1;
    const body = JSON.stringify({ api_key: projectKey, batch: [{ event: 'seen', distinct_id: `user ${sent}` }] });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body, headers });
    await answer.arrayBuffer();
    expect(answer.status).toBe(200);
    await delay(50);
  } while (!done.is);
  return await settled;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask(path: string, body: object): Promise<Answer> {
  const answer = await fetch(server.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
}

async function preview({ app, settings }: HostileSource): Promise<Answer> {
  const { results } = await apiGet<{ results: { id: number; name: string }[] }>(
    server,
    '/api/projects/@current/plugins/?limit=100',
  );
  const plugin = results.find(({ name }) => name === app)?.id;
  return await ask('/api/projects/@current/import_preview/', { plugin, settings });
}

/** One preview of each source: some run until the limit of time stops them. */
const previews = new Map<string, Promise<Answer>>();
function previewOf(name: string): Promise<Answer> {
  const source = sources[name];
  if (source === undefined) throw new Error(`expected a source that is ${name}`);
  const answer = previews.get(name) ?? captureBeside(preview(source));
  previews.set(name, answer);
  return answer;
}

const names = [
  'Parquet that claims 1e9 columns',
  'Avro that claims 4e9 records of nothing',
  'CSV with 3,000 equal headers',
  'a zip bomb',
  'gzip in gzip',
  'a query for a blob of 900 MB',
  'a query without an end',
  'a broker that announces 2 GB',
];

describe.skipIf(!hasProc)('while a source is looked into that would end its reader', () => {
  it.each(names)(
    '%s: previews, preflights and concurrent capture are answered, and the capturing process stays small',
    async (name) => {
      const source = sources[name];
      if (source === undefined) throw new Error(`expected a source that is ${name}`);
      const before = peakMemory(server);
      const previewed = await previewOf(name);
      expect([200, 400]).toContain(previewed.status);
      const config = await createImportConfig(server, source.app, source.settings);
      const checked = await captureBeside(ask(`${config}preflight/`, {}));
      expect([200, 400]).toContain(checked.status);
      expect(previewPids(server)).toEqual([]);
      expect(peakMemory(server) - before).toBeLessThan(200);
    },
    120_000,
  );

  it('a preview beyond its memory or time limit is refused with the limit', async () => {
    expect(await previewOf('a broker that announces 2 GB')).toMatchObject({
      status: 400,
      text: expect.stringMatching(/Kafka was stopped: it took more than 256 MiB of memory \(MILLRACE_IMPORT_PREVIEW/),
    });
    expect(await previewOf('a query without an end')).toMatchObject({
      status: 400,
      text: expect.stringContaining('it took longer than 15 s'),
    });
  });

  it.each([
    ['never gives control back', '() => { for (;;); }'],
    ['waits for what never comes', '() => new Promise(() => {})'],
    ['makes ever more', '() => { const all = []; for (;;) all.push(new Array(1e5).fill(all.length)); }'],
  ])(
    'a transformation that %s ends a preview with its name, concurrent capture is answered, and it leaves nothing behind',
    async (what, processEvent) => {
      const files = {
        'plugin.json': JSON.stringify({ name: `Hangs: ${what}` }),
        'index.js': `exports.processEvent = ${processEvent}`,
      };
      const api = '/api/projects/@current/';
      const { id: plugin } = await created(await ask(`${api}plugins/`, { files }));
      const { id: transform } = await created(await ask(`${api}pipeline_transformation_configs/`, { plugin }));
      const path = await writeRecords(dataDir, 'signed-up.jsonl.gz', records);
      const before = sandboxPids(server);
      const source = { app: 'Files', settings: { paths: path, format: 'posthog', transform: String(transform) } };
      const answer = await captureBeside(preview(source));
      expect(answer).toMatchObject({ status: expect.toBeOneOf([200, 400]), text: expect.stringContaining('Hangs') });
      expect(previewPids(server)).toEqual([]);
      await expect.poll(() => sandboxPids(server)).toEqual(before);
    },
    120_000,
  );

  it('every acknowledged event is stored', async () => {
    const { total } = await untilStored(server, { standard: sent }, 60_000);
    expect(total.standard).toBe(sent);
  });
});
