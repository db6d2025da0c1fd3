/**
 * Real: the whole program as a process that is killed, its sandbox, SQLite, chDB, files, HTTP. Doubled: nothing.
 * Observed: what the API reads back. What the format's reader makes of the records, changed as the code of the transform says, is
 * the oracle.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { PreflightResult } from '../../src/wire/contract/import-preflight.ts';
import type { VerifyResult } from '../../src/imports/run/results.ts';
import type { ReportResult } from '../../src/imports/stages/report/report.ts';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import {
  apiSend,
  createFilesConfig,
  eventsOfRecords,
  expectStored,
  startImport,
  untilRun,
  writeRecords,
  type ImportedEvent,
} from '../support/import-runs.ts';
import { readAllEvents } from '../support/ledger.ts';
import { apiGet, startServer, tempDataDir, type TestServer } from '../support/server.ts';

const family = '/api/projects/@current/pipeline_transformation_configs/';
const filesCount = 3;
const recordsPerFile = 1500;

/** Events of the ids that the code takes, under the names that it gives them. */
const index = `
  exports.processEvent = (event, { config }) => {
    if (event.distinct_id.endsWith('7')) return null
    if (!event.event.startsWith('$')) event.event = config.prefix + event.event
    event.properties.seen_by = 'transform'
    return event
  }`;
const changed = (event: ImportedEvent): ImportedEvent[] => {
  if (event.distinctId.endsWith('7')) return [];
  return [event.event.startsWith('$') ? event : { ...event, event: `Old ${event.event}` }];
};

async function transformation(server: TestServer, prefix = 'Old '): Promise<number> {
  const schema = [{ key: 'prefix', name: 'Prefix', type: 'string', required: true }];
  const files = { 'plugin.json': JSON.stringify({ name: 'Renamer', config: schema }), 'index.js': index };
  const { id: plugin } = await apiSend<{ id: number }>(server, 'POST', '/api/projects/@current/plugins/', { files });
  const { id } = await apiSend<{ id: number }>(server, 'POST', family, { plugin });
  await apiSend(server, 'PATCH', `${family}${id}/settings/`, { prefix });
  return id;
}

async function writeExport(dataDir: string): Promise<readonly object[]> {
  const records = [...mixpanelRecords(20_261_122, filesCount * recordsPerFile)];
  for (let file = 0; file < filesCount; file += 1) {
    await writeRecords(
      dataDir,
      `export-${file}.json.gz`,
      records.slice(file * recordsPerFile, (file + 1) * recordsPerFile),
    );
  }
  return records;
}

const failpoints = [
  'import_rows_written:1',
  'import_segment_checked:1',
  'import_rows_written:2',
  'import_days_settled:1',
];

it('killed with kill -9 in the check of a run with a transform, the run stores the transformed records once', async () => {
  await using dataDir = await tempDataDir();
  const records = await writeExport(dataDir.path);
  let server = await startServer(dataDir.path);
  const config = await createFilesConfig(server, {
    paths: join(dataDir.path, 'import-files'),
    format: 'mixpanel',
    transform: String(await transformation(server)),
  });
  const findings = async () => (await apiSend<PreflightResult>(server, 'POST', `${config}preflight/`)).findings;
  // On a busy machine the trial of the transform may exceed the time limit of the preflight.
  await expect.poll(findings, { timeout: 120_000 }).toContainEqual(
    expect.objectContaining({
      check: 'transform',
      level: 'fine',
      message: 'The transform "Renamer" takes the first 100 events',
    }),
  );
  const run = await startImport(server, config);
  await server.kill();
  for (const failAt of failpoints) {
    const failing = { MILLRACE_FAIL_AT: failAt, MILLRACE_ALLOW_FAILPOINTS: 'true' };
    server = await startServer(dataDir.path, failing, { waitForReady: false });
    if (server.child.signalCode === null) await once(server.child, 'exit');
    expect([failAt, server.child.signalCode]).toEqual([failAt, 'SIGKILL']);
  }
  server = await startServer(dataDir.path);
  const { totals } = await untilRun(server, run, ({ state }) => state === 'completed');
  const all = eventsOfRecords('mixpanel', records);
  const expected = all.flatMap(changed);
  expect(expected.length).toBeLessThan(all.length);
  const verify = await apiGet<VerifyResult>(server, `${run}verify/`);
  expect(verify).toMatchObject({ verdict: 'exact', found: verify.expected });
  const report = await apiGet<ReportResult>(server, `${run}report/`);
  expect(report.balance.filter(({ holds }) => !holds)).toEqual([]);
  await expectStored(server, [expected]);
  expect((await readAllEvents(server)).every(({ properties }) => properties['seen_by'] === 'transform')).toBe(true);
  expect(totals).toMatchObject({
    records: records.length,
    rejected: 0,
    left_out: { 'dropped by the transform "Renamer"': expect.any(Number) as number },
  });
  await server.terminate();
});
