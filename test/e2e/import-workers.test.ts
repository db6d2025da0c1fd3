/**
 * Real: two processes that work on the same runs, killed and stopped at random; metadata in SQLite, staging in a bucket over HTTP,
 * the whole program as the target. Doubled: the bucket's server. What the format's reader makes of the records is the oracle.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { hourMs } from '../../src/base/time.ts';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import type { VerifyResult } from '../../src/imports/run/results.ts';
import { createRun, getRun } from '../../src/imports/run/run-store.ts';
import type { ReportResult } from '../../src/imports/stages/report/report.ts';
import { openStaging } from '../../src/imports/staging/open-staging.ts';
import { stagingKeys, type Staging } from '../../src/imports/staging.ts';
import { testBucketServer } from '../support/bucket-server.ts';
import { tempChdb } from '../support/chdb.ts';
import { eventsOfRecords, expectStored, writeRecords } from '../support/import-runs.ts';
import type { WorkerPlan } from '../support/import-worker.ts';
import { tempMetadata } from '../support/metadata.ts';
import { newRun, runOptions } from '../support/runs.ts';
import { personalKey, projectKey, startServer, tempDataDir } from '../support/server.ts';

const filesCount = 4;
const recordsPerFile = 5000;
const leaseMs = 1500;
const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
const entry = fileURLToPath(new URL('../support/import-worker.ts', import.meta.url));

function startWorker(plan: WorkerPlan): ChildProcess {
  const child = spawn(process.execPath, [entry, JSON.stringify(plan)], { stdio: ['ignore', 'ignore', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function resultOf<T>(staging: Staging, key: string): Promise<T> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key)) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString()) as T;
}

it('an import of two workers that are killed or paused in turn is exact', async () => {
  await using dataDir = await tempDataDir();
  await using bucket = await testBucketServer({ bucket: 'staging', accessKeyId: keys.accessKeyId });
  await using store = await tempMetadata();
  const records = [...mixpanelRecords(20_261_122, filesCount * recordsPerFile)];
  for (let file = 0; file < filesCount; file += 1) {
    const own = records.slice(file * recordsPerFile, (file + 1) * recordsPerFile);
    await writeRecords(dataDir.path, `export-${file}.json.gz`, own);
  }
  const server = await startServer(dataDir.path);
  // Slow enough that kills meet the run at work, however long it takes a worker to start.
  const options = { ...runOptions, format: 'mixpanel', preflight: false, eventsPerSecond: 2000 } as const;
  const target = { kind: 'http', url: server.url } as const;
  const { id } = await createRun(store.db, newRun({ options: { ...options, target } }));
  const chdb = await tempChdb();
  onTestFinished(() => chdb.close());
  const plan = {
    metadata: store.file,
    store: { socketPath: chdb.supervisor.socketPath, spoolDir: chdb.spoolDir },
    staging: { place: 's3://staging/imports', endpoint: bucket.endpoint },
    keys,
    source: join(dataDir.path, 'import-files'),
    target: { url: server.url, apiKey: projectKey, personalApiKey: personalKey },
    leaseMs,
  };
  // Clocks two hours apart.
  const workers = [-hourMs, hourMs].map((aheadMs) => ({ aheadMs, child: startWorker({ ...plan, aheadMs }) }));
  const hit = new Set<string>();
  for (let turn = 0; turn < 8; turn += 1) {
    await delay(1000 + Math.random() * 1500);
    const run = await getRun(store.db, id);
    if (run === undefined || run.state === 'completed') break;
    const worker = workers[turn % 2];
    if (worker === undefined) throw new Error('expected two workers');
    if (run.state === 'running') hit.add(run.stage);
    if (turn % 3 === 2) {
      // Longer than its lease: it resumes when another process holds the run.
      worker.child.kill('SIGSTOP');
      await delay(leaseMs * 2);
      worker.child.kill('SIGCONT');
    } else {
      const gone = once(worker.child, 'exit');
      worker.child.kill('SIGKILL');
      await gone;
      worker.child = startWorker({ ...plan, aheadMs: worker.aheadMs });
    }
  }
  const state = async () => {
    const { state, reason, waiting } = (await getRun(store.db, id)) ?? {};
    return state === 'completed' ? state : JSON.stringify({ state, reason, waiting });
  };
  await expect.poll(state, { timeout: 120_000, interval: 200 }).toBe('completed');
  expect([...hit].toSorted()).not.toEqual([]);

  const staging = await openStaging(plan.staging.place, { endpoint: bucket.endpoint, keys });
  const expected = eventsOfRecords('mixpanel', records);
  const verify = await resultOf<VerifyResult>(staging, stagingKeys.verify(id));
  expect(verify).toMatchObject({ verdict: 'exact', expected: expected.length, found: expected.length });
  const report = await resultOf<ReportResult>(staging, stagingKeys.report(id, 'json'));
  expect(report.balance.filter(({ holds }) => !holds)).toEqual([]);
  expect(await expectStored(server, [expected])).toHaveLength(expected.length);
});
