/**
 * Real: the whole program as a process, twice where an import goes from one to the other, SQLite, chDB, HTTP. Doubled: the
 * bucket, by a stand-in that speaks S3.
 * Observed: what the API reads back. What the format's reader makes of the records is the oracle.
 */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import { testBucketServer } from '../support/bucket-server.ts';
import {
  createFilesConfig,
  eventsOfRecords,
  expectExactRun,
  expectStored,
  startImport,
  untilRun,
  writeRecords,
  type ImportedEvent,
  type RunAnswer,
} from '../support/import-runs.ts';
import { apiGet, freePort, personalKey, projectKey, startServer, tempDataDir } from '../support/server.ts';

const filesCount = 3;
const recordsPerFile = 1500;

/** Files below the data directory of the service that imports, and what must come of them. */
async function writeExport(dataDir: string, seed: number): Promise<{ paths: string; events: ImportedEvent[] }> {
  const records = [...mixpanelRecords(seed, filesCount * recordsPerFile)];
  for (let file = 0; file < filesCount; file += 1) {
    const own = records.slice(file * recordsPerFile, (file + 1) * recordsPerFile);
    await writeRecords(dataDir, `export-${file}.json.gz`, own);
  }
  return { paths: `${dataDir}/import-files`, events: eventsOfRecords('mixpanel', records) };
}

const bucketKeys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };

describe('an import that is staged in a bucket', () => {
  it('killed in every stage, with a slow and failing bucket, stores each event once and leaves no working file', async () => {
    await using bucket = await testBucketServer({ bucket: 'staging', accessKeyId: bucketKeys.accessKeyId });
    await using dataDir = await tempDataDir();
    const env = {
      MILLRACE_IMPORT_STAGING: 's3://staging/imports',
      MILLRACE_IMPORT_STAGING_ENDPOINT: bucket.endpoint,
      MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID: bucketKeys.accessKeyId,
      MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY: bucketKeys.secretAccessKey,
    };
    const { paths, events } = await writeExport(dataDir.path, 20_261_124);
    let server = await startServer(dataDir.path, env);
    const config = await createFilesConfig(server, { paths, format: 'mixpanel' });
    const run = await startImport(server, config);
    await server.kill();
    const places = [
      'import_segment_written:2',
      'import_rows_written:2',
      'import_days_settled:1',
      'import_load_delivered:1',
      'import_verify_written:1',
      'import_report_json_written:1',
    ];
    for (const place of places) {
      bucket.slowDown(2);
      bucket.breakAfter(100, 2);
      const failing = { ...env, MILLRACE_FAIL_AT: place, MILLRACE_ALLOW_FAILPOINTS: 'true' };
      server = await startServer(dataDir.path, failing, { waitForReady: false });
      if (server.child.signalCode === null) await once(server.child, 'exit');
      expect([place, server.child.signalCode]).toEqual([place, 'SIGKILL']);
    }
    server = await startServer(dataDir.path, env);
    const { run: done } = await expectExactRun(server, run);
    await expectStored(server, [events]);
    expect(done.totals).toMatchObject({ records: filesCount * recordsPerFile, rejected: 0 });
    const below = [...bucket.objects.keys()].filter((key) => key.startsWith(`imports/${done.id}/`));
    expect(below).toHaveLength(bucket.objects.size);
    expect(below).toContain(`imports/${done.id}/report.html`);
    expect(below.filter((key) => key.includes('/spills/'))).toEqual([]);
    await server.terminate();
  });
});

describe('an import into another service', () => {
  it('that is killed and down midway waits for it, and stores each event there once', async () => {
    await using sourceDir = await tempDataDir();
    await using targetDir = await tempDataDir();
    const port = { MILLRACE_PORT: String(await freePort()) };
    let target = await startServer(targetDir.path, port);
    const source = await startServer(sourceDir.path, { MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' });
    const { paths, events } = await writeExport(sourceDir.path, 20_261_125);
    const config = await createFilesConfig(source, {
      paths,
      format: 'mixpanel',
      target_url: target.url,
      target_api_key: projectKey,
      target_personal_api_key: personalKey,
    });
    const run = await startImport(source, config, { events_per_second: 1500 });
    await untilRun(source, run, ({ totals }) => Number(totals['loaded']) > 500);
    await target.kill();
    const waiting = await untilRun(source, run, (each) => each.waiting !== null);
    expect(waiting).toMatchObject({ state: 'running', stage: 'load' });
    expect(waiting.waiting?.reason).toMatch(/^http:.*\/batch\/ does not respond \([A-Z_]+\); trying again at/);
    await delay(1200);
    expect((await apiGet<RunAnswer>(source, run)).state).toBe('running');

    target = await startServer(targetDir.path, port);
    const { verify, report } = await expectExactRun(source, run);
    expect(verify.stored_by_others).toBe(0);
    expect(report.options.target).toEqual({ kind: 'http', url: `${target.url}/` });
    await expectStored(target, [events]);
    await expectStored(source, [[]]);
    await target.terminate();
    await source.terminate();
  });
});
