/**
 * Real: the whole program as a process, its process of imports, SQLite, chDB, files, HTTP. Doubled: nothing.
 * Observed: what the API reads back. What the format's reader makes of the records is the oracle.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import {
  apiSend,
  createFilesConfig,
  eventsOfRecords,
  expectExactRun,
  expectStored,
  loadsEvents,
  startImport,
  untilRun,
  writeRecords,
  type ImportedEvent,
  type RunAnswer,
} from '../support/import-runs.ts';
import { readAllEvents } from '../support/ledger.ts';
import { apiGet, startServer, tempDataDir, type TestServer } from '../support/server.ts';

const filesCount = 4;
const recordsPerFile = 3000;

/** Files of an export below the data directory; every event that must come out of them. */
async function writeExport(dataDir: string): Promise<readonly ImportedEvent[]> {
  const records = [...mixpanelRecords(20_261_121, filesCount * recordsPerFile)];
  for (let file = 0; file < filesCount; file += 1) {
    const own = records.slice(file * recordsPerFile, (file + 1) * recordsPerFile);
    await writeRecords(dataDir, `export-${file}.json.gz`, own);
  }
  return eventsOfRecords('mixpanel', records);
}

function createConfig(server: TestServer): Promise<string> {
  return createFilesConfig(server, { paths: join(server.dataDir, 'import-files'), format: 'mixpanel' });
}

async function expectExact(server: TestServer, path: string, expected: readonly ImportedEvent[]): Promise<void> {
  const { run, verify } = await expectExactRun(server, path);
  expect(await expectStored(server, [expected])).toHaveLength(expected.length);
  expect((await readAllEvents(server)).every(({ properties }) => properties['$import_run_id'] === run.id)).toBe(true);
  expect(run.totals).toMatchObject({ records: filesCount * recordsPerFile, rejected: 0, loaded: expected.length });
  expect(verify).toMatchObject({ verdict: 'exact', expected: expected.length, found: expected.length });
}

/** At every place where something has just become durable, or is about to. */
const failpoints = [
  'import_segment_written:2',
  'import_segment_committed:2',
  'import_rows_written:2',
  'import_segment_checked:2',
  'import_deferred_written:1',
  'import_days_settled:1',
  'import_check_written:1',
  'import_month_admitted:1',
  'import_month_attached:1',
  'import_facts_delivered:1',
  'import_load_delivered:1',
  'import_load_committed:1',
  'import_verify_compared:1',
  'import_verify_committed:1',
  'import_verify_written:1',
  'import_report_json_written:1',
  'import_report_written:1',
];

it('a run killed at seventeen points of its five stages imports each record once, and its report adds up', async () => {
  await using dataDir = await tempDataDir();
  const expected = await writeExport(dataDir.path);
  let server = await startServer(dataDir.path);
  const config = await createConfig(server);
  const run = await startImport(server, config);
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
}, 600_000);

it('a run is paused immediately, stays paused across a restart, resumes where it was, and verifies exact', async () => {
  await using dataDir = await tempDataDir();
  const expected = await writeExport(dataDir.path);
  let server = await startServer(dataDir.path);
  const config = await createConfig(server);
  const run = await startImport(server, config, { events_per_second: 1000 });
  await untilRun(server, run, loadsEvents);
  expect(await apiSend<RunAnswer>(server, 'POST', `${run}pause/`)).toMatchObject({ state: 'paused', stage: 'load' });
  const { code } = await server.terminate();
  expect(code).toBe(0);
  server = await startServer(dataDir.path);
  const before = await apiGet<RunAnswer>(server, run);
  expect(before.totals['loaded']).toBeLessThan(expected.length);
  // Longer than a worker waits before it looks for a run.
  await delay(1200);
  expect(await apiGet<RunAnswer>(server, run)).toEqual(before);
  await apiSend<RunAnswer>(server, 'POST', `${run}resume/`, { events_per_second: 0 });
  await expectExact(server, run, expected);
  await server.terminate();
});
