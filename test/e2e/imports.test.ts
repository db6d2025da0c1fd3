/**
 * Real: the whole program as a process, its thread of imports, SQLite, chDB, files, HTTP. Doubled: nothing.
 * Observed: what the API reads back. What the format's reader makes of the records is the oracle.
 */
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { findFormat } from '../../src/formats/registry.ts';
import { mixpanelRecords } from '../../src/formats/test-mixpanel-records.ts';
import { readAllEvents } from '../support/ledger.ts';
import { apiGet, delay, personalKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

const family = '/api/projects/@current/pipeline_import_apps_configs/';
const filesCount = 4;
const recordsPerFile = 3000;

interface Run {
  readonly id: string;
  readonly state: string;
  readonly stage: string;
  readonly reason: string;
  readonly totals: Readonly<Record<string, unknown>>;
}
interface Verify {
  readonly verdict: string;
  readonly expected: number;
  readonly found: number;
}

async function api<T>(server: TestServer, method: string, path: string, body: object = {}): Promise<T> {
  const answer = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ${method} ${path} to succeed, got: ${answer.status} ${text}`);
  return JSON.parse(text) as T;
}

/** Files of an export below the data directory, and every event that must come out of them: uuid, name, id, time. */
async function writeExport(dataDir: string): Promise<Set<string>> {
  const dir = join(dataDir, 'import-files');
  await mkdir(dir, { recursive: true });
  const format = findFormat('mixpanel');
  if (format === undefined) throw new Error('expected the format mixpanel');
  const read = format.createReader({}, format.names);
  const expected = new Set<string>();
  const records = [...mixpanelRecords(20_261_121, filesCount * recordsPerFile)];
  for (let file = 0; file < filesCount; file += 1) {
    const own = records.slice(file * recordsPerFile, (file + 1) * recordsPerFile);
    for (const record of own) {
      const result = read(record);
      if (result.kind !== 'events') continue;
      for (const { uuid, event, distinct_id, timestamp } of result.events) {
        expected.add(identity(String(uuid), event, distinct_id, String(timestamp)));
      }
    }
    const lines = own.map((record) => `${JSON.stringify(record)}\n`).join('');
    await writeFile(join(dir, `export-${file}.json.gz`), gzipSync(lines));
  }
  return expected;
}

function identity(uuid: string, event: string, distinctId: string, timestamp: string): string {
  return [uuid.toLowerCase(), event, distinctId, new Date(timestamp).toISOString()].join(' ');
}

async function createConfig(server: TestServer): Promise<string> {
  const { results } = await apiGet<{ results: { id: number; slug?: string; name: string }[] }>(
    server,
    '/api/projects/@current/plugins/?limit=100',
  );
  const plugin = results.find(({ name }) => name === 'Files')?.id;
  const { id } = await api<{ id: number }>(server, 'POST', family, { plugin });
  const paths = join(server.dataDir, 'import-files');
  await api(server, 'PATCH', `${family}${id}/settings/`, { paths, format: 'mixpanel' });
  return `${family}${id}/`;
}

async function until(server: TestServer, path: string, states: readonly string[]): Promise<Run> {
  for (const deadline = Date.now() + 90_000; ;) {
    const run = await apiGet<Run>(server, path);
    if (states.includes(run.state)) return run;
    if (Date.now() > deadline)
      throw new Error(`expected a run that is ${states.join(' or ')}, got: ${JSON.stringify(run)}`);
    await delay(100);
  }
}

async function expectExact(server: TestServer, run: string, expected: ReadonlySet<string>): Promise<void> {
  const done = await until(server, run, ['completed', 'failed', 'paused']);
  expect(done).toMatchObject({ state: 'completed', stage: 'report', reason: '' });
  const stored = await readAllEvents(server);
  const found = stored.map((each) => identity(each.id, each.event, each.distinct_id, each.timestamp));
  expect(found).toHaveLength(expected.size);
  expect(new Set(found)).toEqual(expected);
  expect(stored.every(({ properties }) => properties['$import_run_id'] === done.id)).toBe(true);
  expect(done.totals).toMatchObject({ records: filesCount * recordsPerFile, rejected: 0, loaded: expected.size });
  const verify = await apiGet<Verify>(server, `${run}verify/`);
  expect(verify).toMatchObject({ verdict: 'exact', expected: expected.size, found: expected.size });
}

/** At every place where something has just become durable, or is about to. */
const failpoints = [
  'import_segment_written:2',
  'import_segment_committed:2',
  'import_spill_written:2',
  'import_segment_checked:2',
  'import_day_written:1',
  'import_day_index_written:1',
  'import_day_committed:1',
  'import_check_written:1',
  'import_load_delivered:2',
  'import_load_committed:2',
  'import_verify_compared:1',
  'import_verify_committed:1',
  'import_verify_written:1',
  'import_report_json_written:1',
  'import_report_written:1',
];

it('a run killed at fifteen points of its five stages imports each record once, and its report adds up', async () => {
  await using dataDir = await tempDataDir();
  const expected = await writeExport(dataDir.path);
  let server = await startServer(dataDir.path);
  const config = await createConfig(server);
  const { id } = await api<Run>(server, 'POST', `${config}runs/`);
  const run = `${config}runs/${id}/`;
  await server.kill();
  for (const failAt of failpoints) {
    server = await startServer(
      dataDir.path,
      { MILLRACE_FAIL_AT: failAt, MILLRACE_ALLOW_FAILPOINTS: 'true' },
      { waitForReady: false },
    );
    if (server.child.signalCode === null) await once(server.child, 'exit');
    expect([failAt, server.child.signalCode]).toEqual([failAt, 'SIGKILL']);
  }
  server = await startServer(dataDir.path);
  await expectExact(server, run, expected);
  await server.terminate();
});

it('a run is paused at once, stays so over a restart, goes on where it was, and verifies exact', async () => {
  await using dataDir = await tempDataDir();
  const expected = await writeExport(dataDir.path);
  let server = await startServer(dataDir.path);
  const config = await createConfig(server);
  const { id } = await api<Run>(server, 'POST', `${config}runs/`, { events_per_second: 2000 });
  const run = `${config}runs/${id}/`;
  for (let stage = ''; stage !== 'load'; stage = (await apiGet<Run>(server, run)).stage) await delay(50);
  await delay(1500);
  expect(await api<Run>(server, 'POST', `${run}pause/`)).toMatchObject({ state: 'paused', stage: 'load' });
  const { code } = await server.terminate();
  expect(code).toBe(0);
  server = await startServer(dataDir.path);
  const before = await apiGet<Run>(server, run);
  expect(before.totals['loaded']).toBeLessThan(expected.size);
  await delay(1500);
  expect(await apiGet<Run>(server, run)).toEqual(before);
  await api<Run>(server, 'POST', `${run}resume/`, { events_per_second: 0 });
  await expectExact(server, run, expected);
  await server.terminate();
});
