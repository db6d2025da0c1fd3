/** Every alert fires by its fault in the real program, and ends with it: real /metrics, evaluated by promtool. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import { firingAlerts, hasPromtool, scrape, type Scrape } from '../support/fire-alerts.ts';
import { apiSend, createFilesConfig, startImport, untilRun, writeRecords } from '../support/import-runs.ts';
import { hasProc, importPid, storePid } from '../support/processes.ts';
import { spawnCommand } from '../support/command.ts';
import { projectKey, startServer, tempDataDir, untilSettled, type TestServer } from '../support/server.ts';

const backlogEventsMax = 1000;
/** The change between two scrapes is what continues. */
const apartMs = 3000;

const canRun = hasProc && hasPromtool();
describe.skipIf(!canRun)(`an alert${canRun ? '' : ' (skipped: promtool is not installed)'}`, () => {
  const parts = new AsyncDisposableStack();
  let server: TestServer;

  beforeAll(async () => {
    const data = parts.use(await tempDataDir());
    server = await startServer(data.path, {
      MILLRACE_BACKLOG_EVENTS_MAX: String(backlogEventsMax),
      MILLRACE_IMPORT_DISK_BUDGET: '1',
    });
    parts.defer(() => server.kill());
  });
  afterAll(() => parts.disposeAsync());

  /** Two scrapes with what happens between them. */
  async function around(work: () => Promise<unknown> = () => delay(apartMs)): Promise<[Scrape, Scrape]> {
    const first = await scrape(server);
    await work();
    return [first, await scrape(server)];
  }

  /** Waits until no alert would fire if nothing changed. */
  const untilQuiet = () => expect.poll(async () => firingAlerts([await around()])).toEqual([]);

  const valueOf = async (start: string): Promise<number> => {
    const { values = new Map<string, number>() } = await scrape(server);
    return [...values].reduce((sum, [series, value]) => sum + (series.startsWith(start) ? value : 0), 0);
  };

  it('does not fire while a service stores what it accepts', async () => {
    const working = await around(async () => {
      await send(server, 100);
      await send(server, 100, true);
      await untilSettled(server, { standard: 100, historical: 100 });
      await expect.poll(() => valueOf('millrace_buffer_oldest_seconds')).toBe(0);
    });
    expect(firingAlerts([working])).toEqual([]);
  });

  it('of lost events fires while events become dead letters, and ends when clients are corrected', async () => {
    const before = await valueOf('millrace_component_discarded_events_total');
    const faulty = await around(async () => {
      await post(server, {
        batch: [
          { event: 'fine', distinct_id: '12345678901234567890' },
          { event: "it's \u0000", distinct_id: '' },
        ],
      });
      await expect.poll(() => valueOf('millrace_component_discarded_events_total')).toBeGreaterThan(before);
    });
    expect(firingAlerts([faulty])).toEqual(['MillraceLosesEvents']);
    await untilQuiet();
  });

  it('of a store that keeps dying, of events that wait and of refused events fire, and end when the store stays', async () => {
    const stop = new AbortController();
    const killing = keepKilling(() => storePid(server), stop.signal);
    const statuses = new Set<number>();
    const sent = { standard: 101, historical: 100 };
    await expect.poll(() => valueOf('millrace_store_restarts_total')).toBeGreaterThan(0);
    while (!statuses.has(503)) {
      statuses.add(await send(server, 100, true));
      const status = await send(server, 100);
      statuses.add(status);
      if (status === 200) sent.standard += 100;
    }
    const restarts = await valueOf('millrace_store_restarts_total');
    const faulty = await around(async () => {
      await delay(apartMs);
      expect(await send(server, 100)).toBe(503);
      await expect.poll(() => valueOf('millrace_store_restarts_total')).toBeGreaterThan(restarts + 1);
    });
    stop.abort();
    await killing;
    // The import process needs the store at its start, and may have ended as well.
    const firing = firingAlerts([faulty]).filter((name) => name !== 'MillraceImportThreadRestarts');
    expect(firing).toEqual([
      'MillraceFallsBehind',
      'MillraceHistoryFallsBehind',
      'MillraceRefusesEvents',
      'MillraceStoreRestarts',
      'MillraceStoresNothing',
    ]);
    await expect.poll(() => valueOf('millrace_buffer_oldest_seconds')).toBe(0);
    await untilSettled(server, { standard: sent.standard });
    await untilQuiet();
  });

  it('of a limited project fires while its events are refused, and ends when its limit is raised', async () => {
    const limit = (events_per_second: number | null) =>
      apiSend(server, 'PATCH', '/api/projects/@current/limits/', { events_per_second });
    await limit(1);
    // The first batch may be larger than the limit.
    await expect.poll(() => send(server, 100)).toBe(429);
    await expect.poll(() => valueOf('millrace_buffer_oldest_seconds')).toBe(0);
    const limited = await around(async () => expect(await send(server, 100)).toBe(429));
    expect(firingAlerts([limited])).toEqual(['MillraceProjectLimited']);
    await limit(null);
    await expect.poll(() => send(server, 100)).toBe(200);
    await untilQuiet();
  });

  it('of an import that stalls and of a task that waits for it fire, and end when the run is cancelled', async () => {
    await writeRecords(server.dataDir, 'export.ndjson.gz', [...mixpanelRecords(20_261_128, 500)]);
    const paths = join(server.dataDir, 'import-files/export.ndjson.gz');
    const config = await createFilesConfig(server, { paths, format: 'mixpanel' });
    const run = await startImport(server, config, { preflight: false });
    await untilRun(server, run, ({ waiting }) => waiting !== null);
    const create = ['keys', 'create', 'erases', '--scope', 'project:read', 'erasure:write'];
    const key = (await spawnCommand(create, { env: { MILLRACE_DATA_DIR: server.dataDir } })).stdout.trim();
    await apiSend(server, 'POST', '/api/projects/@current/erasures/', { distinct_ids: ["p'1"] }, key);
    await expect.poll(() => valueOf('millrace_tasks_waiting')).toBe(1);
    await expect.poll(() => valueOf('millrace_import_stalled_seconds')).toBeGreaterThan(1);
    expect(firingAlerts([await around()])).toEqual(['MillraceImportStalls', 'MillraceTasksWait']);
    await apiSend(server, 'POST', `${run}cancel/`);
    await expect.poll(() => valueOf('millrace_import_stalled_seconds')).toBe(0);
    await untilQuiet();
  });

  it('of the import process fires while it keeps ending, and ends when it stays', async () => {
    const ended = 'millrace_component_errors_total';
    const before = await valueOf(ended);
    const stop = new AbortController();
    const killing = keepKilling(() => importPid(server), stop.signal);
    const faulty = await around(() => expect.poll(() => valueOf(ended)).toBeGreaterThan(before + 1));
    stop.abort();
    await killing;
    expect(firingAlerts([faulty])).toEqual(['MillraceImportThreadRestarts']);
    await expect.poll(() => importPid(server)).toBeDefined();
    await untilQuiet();
  });

  it('of processes fires when the only one is killed, and ends when it is started again', async () => {
    const { host, port } = new URL(server.url);
    const killed = await around(() => server.kill());
    expect(firingAlerts([killed])).toEqual(['MillraceDown', 'MillraceGone']);
    server = await startServer(server.dataDir, { MILLRACE_PORT: port });
    expect(new URL(server.url).host).toBe(host);
    await untilQuiet();
  });
});

/** Sends valid events, and returns the status. */
function send(server: TestServer, count: number, historical = false): Promise<number> {
  const batch = Array.from({ length: count }, (_, n) => ({
    event: 'paid “naïve” 💶',
    distinct_id: `p'${n}`,
    ...(historical && { timestamp: '2025-02-03T04:05:06Z' }),
  }));
  return post(server, { batch, historical_migration: historical });
}

async function post(server: TestServer, body: object): Promise<number> {
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    body: JSON.stringify({ api_key: projectKey, ...body }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** Kills every process that takes the place of the one before. */
async function keepKilling(find: () => number | undefined, signal: AbortSignal): Promise<void> {
  for (; !signal.aborted; await delay(20)) {
    const pid = find();
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  }
}
