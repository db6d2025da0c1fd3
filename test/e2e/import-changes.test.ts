/**
 * Real: the whole program as a process that is killed, SQLite, chDB, files; the command as a process. Doubled: the bucket, by a
 * stand-in that speaks S3.
 * Observed: what the API reads back. What the format's reader makes of the records that are there in the end is the oracle.
 */
import { once } from 'node:events';
import { appendFile, mkdir, rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import { testBucketServer } from '../support/bucket-server.ts';
import { startEndpoint } from '../support/capture-endpoint.ts';
import { newImport } from '../support/import-command.ts';
import {
  createFilesConfig,
  createImportConfig,
  eventsOfRecords,
  expectExactRun,
  expectStored,
  startImport,
  type RunAnswer,
} from '../support/import-runs.ts';
import { startServer, tempDataDir, type TestServer } from '../support/server.ts';

const count = 1000;
const records = [...mixpanelRecords(20_261_122, 2 * count)];
const before = records.slice(0, count);
const after = records.slice(count);

function textOf(some: readonly object[]): string {
  return some.map((record) => `${JSON.stringify(record)}\n`).join('');
}

/** Starts an import in a service that is killed when its first piece is read, and again after `change`; what is there then. */
async function exactAfterKill(
  begin: (server: TestServer, dataDir: string) => Promise<string>,
  change: (dataDir: string) => Promise<void>,
  expected: readonly object[],
): Promise<RunAnswer> {
  await using dataDir = await tempDataDir();
  await mkdir(join(dataDir.path, 'import-files'), { recursive: true });
  const env = { MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' };
  const failing = { MILLRACE_FAIL_AT: 'import_segment_committed:1', MILLRACE_ALLOW_FAILPOINTS: 'true' };
  let server = await startServer(dataDir.path, { ...env, ...failing });
  const run = await begin(server, dataDir.path);
  if (server.child.signalCode === null) await once(server.child, 'exit');
  expect(server.child.signalCode).toBe('SIGKILL');
  await change(dataDir.path);
  server = await startServer(dataDir.path, env);
  const { run: done } = await expectExactRun(server, run);
  await expectStored(server, [eventsOfRecords('mixpanel', expected)]);
  await server.terminate();
  return done;
}

describe('killed with kill -9 in the middle of the export of a source that changes', () => {
  const fileOf = (dataDir: string): string => join(dataDir, 'import-files', 'a.jsonl');
  const cases: [how: string, change: (dataDir: string) => Promise<void>, expected: readonly object[]][] = [
    ['a file that grows', (dataDir) => appendFile(fileOf(dataDir), textOf(after)), records],
    [
      'a file that is truncated',
      (dataDir) => truncate(fileOf(dataDir), textOf(before.slice(0, 50)).length),
      before.slice(0, 50),
    ],
    [
      'a file that is replaced',
      async (dataDir) => {
        await writeFile(join(dataDir, 'new'), textOf(after));
        await rename(join(dataDir, 'new'), fileOf(dataDir));
      },
      after,
    ],
    [
      'a directory that is added to',
      (dataDir) => writeFile(join(dataDir, 'import-files', 'b.jsonl'), textOf(after)),
      records,
    ],
  ];
  it.each(cases)('%s: the run is exact for the present content', async (_how, change, expected) => {
    const start = async (server: TestServer, dataDir: string): Promise<string> => {
      await writeFile(fileOf(dataDir), textOf(before));
      const config = await createFilesConfig(server, { paths: join(dataDir, 'import-files'), format: 'mixpanel' });
      return startImport(server, config);
    };
    const run = await exactAfterKill(start, change, expected);
    expect(run.totals).toMatchObject({ records: expected.length });
  });

  it('an overwritten object: the run is exact for the present content', async () => {
    await using bucket = await testBucketServer({ bucket: 'exports', accessKeyId: 'AKIDEXAMPLE' });
    bucket.objects.set('a.jsonl', Buffer.from(textOf(before)));
    const keys = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'secret' };
    const place = { bucket: 'exports', endpoint: bucket.endpoint, format: 'mixpanel' };
    const start = async (server: TestServer): Promise<string> =>
      startImport(server, await createImportConfig(server, 'S3 bucket', { ...keys, ...place }));
    const change = async (): Promise<void> => void bucket.objects.set('a.jsonl', Buffer.from(textOf(after)));
    const run = await exactAfterKill(start, change, after);
    expect(run.totals).toMatchObject({ records: after.length });
  });
});

describe('millrace import of a file that is constantly written', () => {
  it('sends nothing, and gives advice', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport([]);
    const writer = setInterval(() => void appendFile(made.file, textOf(before.slice(0, 1))), 10);
    try {
      await writeFile(made.file, textOf(before));
      const finished = await made.spawn(endpoint.url);
      expect([finished.code, finished.stdout]).toEqual([
        exitCodes.preflight.code,
        expect.stringMatching(/is still being written: .*; wait until that is done, or import a copy/),
      ]);
      expect(endpoint.kept).toEqual([]);
    } finally {
      clearInterval(writer);
    }
  }, 180_000);
});
