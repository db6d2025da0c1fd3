/**
 * Real: the whole program as a process, and a second one that is moved away from; PostgreSQL's engine and wire protocol.
 * Doubled: the bucket, the web server. Observed: what the API reads back. The format's reader is the oracle.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import { startPostgresServer } from '../support/postgres-source.ts';
import { testBucketServer } from '../support/bucket-server.ts';
import {
  createImportConfig,
  eventsOfRecords,
  expectExactRun,
  expectStored,
  startImport,
  untilRun,
  type ImportedEvent,
} from '../support/import-runs.ts';
import { apiGet, freePort, personalKey, projectKey, startServer, tempDataDir, untilStored } from '../support/server.ts';
import type { RunAnswer } from '../support/import-runs.ts';
import type { TestServer } from '../support/server.ts';

let data: Awaited<ReturnType<typeof tempDataDir>>;
let server: TestServer;
/** What every test so far has imported. */
const imported: (readonly ImportedEvent[])[] = [];

beforeAll(async () => {
  data = await tempDataDir();
  server = await startServer(data.path, { MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' });
});
afterAll(async () => {
  await server.terminate();
  await data[Symbol.asyncDispose]();
});

async function importFrom(app: string, settings: object, range: object = {}): Promise<string> {
  return startImport(server, await createImportConfig(server, app, settings), range);
}

/** Events that the run found stored, one by one the ones expected, and nothing else. */
async function foundExactly(run: string, events: readonly ImportedEvent[]): Promise<number> {
  const { verify } = await expectExactRun(server, run);
  imported.push(events);
  await expectStored(server, imported);
  return verify.found;
}

function compressed(records: readonly object[]): Buffer {
  return gzipSync(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
}

function waitsFor(reason: RegExp): (run: RunAnswer) => boolean {
  return ({ waiting }) => reason.test(waiting?.reason ?? '');
}

describe('a whole import', () => {
  it('from another instance that is killed midway and restarted: every event is stored once', async () => {
    await using dataDir = await tempDataDir();
    const port = { MILLRACE_PORT: String(await freePort()) };
    let there = await startServer(dataDir.path, port);
    const events = pastEvents(600);
    await sendHistory(there, events);
    const settings = { host: `http://127.0.0.1:${port.MILLRACE_PORT}`, project_id: '1', personal_api_key: personalKey };
    const range = { from: '2023-05-01', to: '2023-05-04' };
    const run = await importFrom('PostHog or Millrace', { ...settings, page_size: '5' }, range);
    await untilRun(server, run, ({ totals }) => Number(totals['records']) > 0);
    await there.kill();
    await untilRun(server, run, waitsFor(/connection to The other service broke/));
    there = await startServer(dataDir.path, port);
    expect(await foundExactly(run, eventsOfRecords('posthog', events))).toBe(600);
    await there.terminate();
  });

  it('from a web server that breaks connections and truncates files: every event is stored once', async () => {
    const records = [...mixpanelRecords(71, 800)];
    const [first, second] = [compressed(records.slice(0, 400)), compressed(records.slice(400))];
    const broken = { reset: 2, cut: 2 };
    await using site = await serve((path, response) => {
      const file = path === '/first.gz' ? first : second;
      response.writeHead(200, { etag: `"${path}"` });
      const half = file.subarray(0, file.length / 2);
      if (path === '/first.gz' && broken.reset-- > 0) return void response.write(half, () => response.destroy());
      response.end(path === '/second.gz' && broken.cut-- > 0 ? half : file);
    });
    const urls = `${site.url}/first.gz\n${site.url}/second.gz`;
    const run = await importFrom('Web addresses', { urls, format: 'mixpanel' });
    const events = eventsOfRecords('mixpanel', records);
    expect(await foundExactly(run, events)).toBe(events.length);
  });

  it('of a constantly changing file stops with the reason, and nothing of it is stored', async () => {
    let version = 0;
    await using site = await serve((_path, response) => {
      response.writeHead(200, { etag: `"${(version += 1)}"` }).end(compressed([...mixpanelRecords(version, 50)]));
    });
    // The preflight would find the first change already.
    const settings = { urls: `${site.url}/export.gz`, format: 'mixpanel' };
    const run = await importFrom('Web addresses', settings, { preflight: false });
    await expect(untilRun(server, run, ({ state }) => state === 'completed')).rejects.toThrow(
      /has changed since it was listed, repeatedly: wait until/,
    );
    expect(await apiGet<RunAnswer>(server, run)).toMatchObject({ state: 'failed', stage: 'export' });
    await expectStored(server, imported);
  });

  it('from a slow bucket that breaks off within objects: every event is stored once', async () => {
    await using bucket = await testBucketServer({ bucket: 'exports', accessKeyId: 'AKIDEXAMPLE', pageSize: 2 });
    const records = [...mixpanelRecords(73, 1000)];
    for (let part = 0; part < 5; part += 1) {
      bucket.objects.set(`mixpanel/${part}.json.gz`, compressed(records.slice(part * 200, part * 200 + 200)));
    }
    bucket.slowDown(3);
    bucket.breakAfter(2000, 3);
    const keys = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'secret' };
    const place = { bucket: 'exports', prefix: 'mixpanel/', endpoint: bucket.endpoint, format: 'mixpanel' };
    const run = await importFrom('S3 bucket', { ...keys, ...place });
    const events = eventsOfRecords('mixpanel', records);
    expect(await foundExactly(run, events)).toBe(events.length);
  });

  it('from PostgreSQL with a connection that breaks during a query: every row is stored once', async () => {
    await using postgres = await startPostgresServer();
    await postgres.db.exec(`create table orders (id bigint primary key, kind text, customer text, at timestamptz);
      insert into orders select n, 'Order ' || n % 3, 'customer-' || n % 20,
        timestamptz '2022-05-01T10:00:00Z' + n * interval '10 minutes' from generate_series(1, 2000) as n`);
    postgres.bytesLeft = 40_000;
    const mapping = {
      event: 'kind',
      distinct_id: 'customer',
      timestamp: { path: 'at', format: 'iso' },
      uuid: 'order-{id}',
    };
    const run = await importFrom('PostgreSQL', {
      host: '127.0.0.1',
      port: String(postgres.port),
      database: 'postgres',
      user: 'postgres',
      password: 'secret',
      tls: 'off',
      query: 'select * from orders',
      cursor_column: 'at',
      batch_size: '100',
      format: 'mapping',
      format_options: { mapping },
    });
    await untilRun(server, run, waitsFor(/connection to PostgreSQL broke/));
    expect(postgres.bytesLeft).toBeLessThan(0);
    postgres.bytesLeft = Infinity;
    const { rows } = await postgres.db.query<object>('select * from orders');
    const records = JSON.parse(JSON.stringify(rows)) as object[];
    const events = eventsOfRecords('mapping', records, { mapping: JSON.stringify(mapping) });
    expect(await foundExactly(run, events)).toBe(2000);
  });
});

function pastEvents(count: number): { uuid: string; event: string; distinct_id: string; timestamp: string }[] {
  const start = Date.UTC(2023, 4, 1);
  return Array.from({ length: count }, (_, index) => ({
    uuid: randomUUID(),
    event: `Event ${index % 4}`,
    distinct_id: `visitor-${index % 30}`,
    // Three share a time.
    timestamp: new Date(start + Math.floor(index / 3) * 1_290_000).toISOString(),
  }));
}

async function sendHistory(to: TestServer, events: readonly object[]): Promise<void> {
  const answer = await fetch(`${to.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: projectKey, historical_migration: true, batch: events }),
  });
  expect(answer.status).toBe(200);
  await untilStored(to, { historical: events.length });
}

/** A web server with files; HEAD and GET say the same. */
async function serve(answer: (path: string, response: ServerResponse) => void) {
  const site = createServer((request, response) => {
    if (request.method === 'GET') answer(request.url ?? '/', response);
    else response.writeHead(200, { etag: `"${request.url}"` }).end();
  });
  await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
  // Sound: a server that listens on a port has such an address.
  const { port } = site.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      site.closeAllConnections();
      await new Promise((resolve) => void site.close(resolve));
    },
  };
}
