/**
 * Real: the whole program as a process, its imports, SQLite, chDB, files, HTTP on both sides. Doubled: the services that are
 * moved away from, which misbehave on request. Observed: what the API reads back. The format's reader is the oracle.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiSend, createImportConfig, startImport, type RunAnswer } from '../support/import-runs.ts';
import { apiGet, startServer, tempDataDir, type TestServer } from '../support/server.ts';
import {
  identity,
  serviceNames,
  startService,
  windowOf,
  type Service,
  type ServiceName,
} from './import-sources.fixture.ts';

const env = { MILLRACE_OUTBOUND_ALLOW: '127.0.0.1', MILLRACE_IMPORT_RUNS: '8' };

interface Page {
  readonly next: string | null;
  readonly results: readonly { id: string; event: string; distinct_id: string; timestamp: string }[];
}

let data: Awaited<ReturnType<typeof tempDataDir>>;
let shared: TestServer;
let numbers = 0;

beforeAll(async () => {
  data = await tempDataDir();
  shared = await startServer(data.path, env);
});
afterAll(async () => {
  await shared.terminate();
  await data[Symbol.asyncDispose]();
});

/** Starts a run of the whole range; its address. */
async function start(server: TestServer, { plugin, settings, range }: Service, payload: object = {}): Promise<string> {
  return startImport(server, await createImportConfig(server, plugin, settings), { ...range, ...payload });
}

/** Where trouble is planted for the export: the preflight's first page would meet it instead. */
const withoutPreflight = { preflight: false };

/** The run when it does nothing any more, and every reason for which it waited until then. */
async function ended(server: TestServer, path: string): Promise<{ run: RunAnswer; waits: string[] }> {
  const waits = new Set<string>();
  for (const deadline = Date.now() + 150_000; ;) {
    const run = await apiGet<RunAnswer>(server, path);
    if (run.waiting) waits.add(run.waiting.reason);
    if (['completed', 'failed', 'paused', 'cancelled'].includes(run.state)) return { run, waits: [...waits] };
    if (Date.now() > deadline) throw new Error(`expected a run that ends, got: ${JSON.stringify(run)}`);
    // A wait is shown for half a second at least.
    await delay(100);
  }
}

/** Everything that is stored of the fortnight, as a user reads it; sorted. */
async function stored(server: TestServer, number: number): Promise<string[]> {
  const { from, to } = windowOf(number);
  const found: string[] = [];
  let path: string | null =
    `/api/projects/@current/events/?${new URLSearchParams({ after: from, before: to, limit: '1000' })}`;
  while (path !== null) {
    const page: Page = await apiGet<Page>(server, path);
    found.push(...page.results.map((each) => identity(each.id, each.event, each.distinct_id, each.timestamp)));
    path = page.next === null ? null : page.next.slice(new URL(page.next).origin.length);
  }
  return found.toSorted();
}

async function expectExact(server: TestServer, path: string, service: Service, number: number): Promise<string[]> {
  const { run, waits } = await ended(server, path);
  expect(run).toMatchObject({ state: 'completed', reason: '', totals: { rejected: 0 } });
  const expected = service.expected();
  expect(expected.size).toBeGreaterThan(300);
  expect(await stored(server, number)).toEqual([...expected].toSorted());
  expect(await apiGet(server, `${path}verify/`)).toMatchObject({ verdict: 'exact', expected: expected.size });
  return waits;
}

describe.concurrent.each(serviceNames)('a whole import from %s', (name: ServiceName) => {
  // First, because it is tried for the longest.
  it.each([
    ['an answer that stays cut off', { truncatedGzip: 1000 }, /gzip|cut off/],
    ['a day that is answered 404 by something else', { notFound: 1000 }, /responded 404; check the address/],
  ])(
    '%s: the run stops with the reason, stores nothing, and is exact after it is resumed',
    async (_what, trouble, reason) => {
      const number = (numbers += 1);
      await using service = await startService(name, number);
      service.trouble(trouble);
      const path = await start(shared, service);
      const { run } = await ended(shared, path);
      expect(run).toMatchObject({ state: 'failed', stage: 'export', reason: expect.stringMatching(reason) });
      expect(await stored(shared, number)).toEqual([]);
      Object.assign(service.server.trouble, { truncatedGzip: 0, notFound: 0 });
      await apiSend(shared, 'POST', `${path}resume/`);
      await expectExact(shared, path, service, number);
    },
  );

  it.each([
    ['answers that break in the middle and come in another order the next time', { reset: 3 }, /connection/],
    ['429 with Retry-After', { rateLimited: 3 }, /responded 429/],
    ['bursts of 503 and 502', { unavailable: 2, badGateway: 2 }, /responded 50[23]/],
    ['gzip data that ends early', { truncatedGzip: 2 }, /gzip|cut off/],
    ['answers that end in the middle of a record without a sign', { truncated: 3 }, /expected|truncated/],
  ])('%s: everything is imported exactly once, and the run said what it waited for', async (_what, trouble, reason) => {
    const number = (numbers += 1);
    await using service = await startService(name, number);
    service.server.retryAfter = '1';
    service.trouble(trouble);
    const waits = await expectExact(shared, await start(shared, service, withoutPreflight), service, number);
    expect(Object.values(service.server.trouble)).toEqual(Object.values(service.server.trouble).map(() => 0));
    expect(waits).toContainEqual(expect.stringMatching(reason));
  });

  it('gzip within gzip: everything is imported exactly once', async () => {
    const number = (numbers += 1);
    await using service = await startService(name, number);
    service.server.layers = 1;
    const waits = await expectExact(shared, await start(shared, service), service, number);
    // The tests beside it import into the same project.
    expect(waits.filter((reason) => !reason.startsWith('another run of this project'))).toEqual([]);
  });

  it('events that arrive after their day was exported are imported by the next run, and none is stored twice', async () => {
    const number = (numbers += 1);
    await using service = await startService(name, number);
    await expectExact(shared, await start(shared, service), service, number);
    const before = service.expected();
    service.addLate();
    const { run } = await ended(shared, await start(shared, service));
    expect(run).toMatchObject({ state: 'completed', reason: '' });
    const all = [...new Set([...before, ...service.expected()])].toSorted();
    const found = await stored(shared, number);
    expect(found.length).toBeGreaterThan(before.size);
    expect(found.filter(isOfSource)).toEqual(all.filter(isOfSource));
    // What the import adds where it sees something first is stored once as well, though that may be on an earlier day now.
    expect(new Set(found.map(uuidOf)).size).toBe(found.length);
    expect(new Set(found.map(uuidOf))).toEqual(new Set(all.map(uuidOf)));
  });

  it('paused during a response it stops immediately, and is exact after it is resumed', async () => {
    const number = (numbers += 1);
    await using service = await startService(name, number);
    service.trouble({ stalled: 1 });
    const path = await start(shared, service);
    await untilStalled(service);
    expect(await apiSend<RunAnswer>(shared, 'POST', `${path}pause/`)).toMatchObject({
      state: 'paused',
      stage: 'export',
    });
    const asked = service.server.asked.length;
    await delay(1500);
    expect(service.server.asked.length).toBe(asked);
    await apiSend(shared, 'POST', `${path}resume/`);
    await expectExact(shared, path, service, number);
  });
});

it('killed with kill -9 in the middle of three exports the service resumes all of them, each exact', async () => {
  await using dataDir = await tempDataDir();
  let server = await startServer(dataDir.path, env);
  const services = await Promise.all(serviceNames.map((name, number) => startService(name, number)));
  const paths: string[] = [];
  for (const service of services) {
    service.trouble({ stalled: 1 });
    paths.push(await start(server, service));
  }
  await Promise.all(services.map(untilStalled));
  for (const path of paths)
    expect(await apiGet<RunAnswer>(server, path)).toMatchObject({ state: 'running', stage: 'export' });
  await server.kill();
  server = await startServer(dataDir.path, env);
  for (const [number, service] of services.entries()) {
    await expectExact(server, paths[number] ?? '', service, number);
    await service[Symbol.asyncDispose]();
  }
  await server.terminate();
});

function isOfSource(each: string): boolean {
  return !/ \$(identify|groupidentify) /.test(each);
}

function uuidOf(each: string): string {
  return each.slice(0, 36);
}

/** Half of an answer was sent, and no more comes. */
async function untilStalled({ server }: Service): Promise<void> {
  while (server.asked.length < 2 || server.trouble.stalled > 0) await delay(20);
  await delay(300);
}
