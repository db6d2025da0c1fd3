/**
 * A separate process that works on import runs next to others, and is killed by a test. Argument: JSON of WorkerPlan. Its runs read
 * one directory of files and load into a service over HTTP.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectChdb } from '../../src/stores/events/chdb/connect-chdb.ts';
import { assembleStages } from '../../src/imports/assemble.ts';
import { fieldWords } from '../../src/imports/run/advice-words.ts';
import { startRunWorker } from '../../src/imports/run/run-worker.ts';
import { files } from '../../src/imports/sources/files.ts';
import { createDiskQuota } from '../../src/imports/stages/export/disk-quota.ts';
import { openStaging } from '../../src/imports/staging/open-staging.ts';
import { directRequest } from '../../src/imports/targets/http-request.ts';
import { openHttpTarget } from '../../src/imports/targets/http-target.ts';
import { openSqlite } from '../../src/stores/metadata/sqlite.ts';
import { createOutboundStream } from '../../src/plugins/outbound/stream.ts';
import { parseAllowList } from '../../src/plugins/outbound/allow-list.ts';
import { createLog } from '../../src/server/telemetry/log.ts';

export interface WorkerPlan {
  /** SQLite file of the runs. */
  readonly metadata: string;
  /** Of staging: `s3://bucket/prefix` on a server. */
  readonly staging: { readonly place: string; readonly endpoint: string };
  /** The engine that holds the tables of runs; shared by all workers. */
  readonly store: { readonly socketPath: string; readonly spoolDir: string };
  readonly keys: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Directory whose files are the source. */
  readonly source: string;
  readonly target: { readonly url: string; readonly apiKey: string; readonly personalApiKey: string };
  /** How far its clock is off, ms. */
  readonly aheadMs: number;
  readonly leaseMs: number;
}

const plan = JSON.parse(process.argv[2] ?? '') as WorkerPlan;
const db = openSqlite(plan.metadata);
const staging = await openStaging(plan.staging.place, { endpoint: plan.staging.endpoint, keys: plan.keys });
const store = connectChdb(plan.store.socketPath, plan.store.spoolDir);
const tempDir = await mkdtemp(join(tmpdir(), 'millrace-import-worker-'));
const clock = { now: () => Date.now() + plan.aheadMs };
const stream = createOutboundStream({ allow: parseAllowList('') });

// A test that fails must not leave a busy process behind.
setTimeout(() => process.kill(process.pid, 'SIGKILL'), 150_000).unref();
await startRunWorker({
  db,
  clock,
  log: createLog('silent'),
  signal: new AbortController().signal,
  concurrency: 1,
  pollMs: 50,
  checkMs: 100,
  leaseMs: plan.leaseMs,
  stagesOf: async (run) =>
    assembleStages({
      db,
      staging,
      openRunStore: async () => store,
      quota: createDiskQuota({ staging, budgetBytes: 0, freeBytes: async () => undefined }),
      clock,
      failpoint: () => {},
      threads: 1,
      eventBytesMax: 1_000_000,
      openSource: async () =>
        files.createSource(
          { paths: plan.source },
          // What a file's own time is compared with.
          { stream, allowedDirs: [plan.source], resolve: async (host) => host, now: () => Date.now(), tempDir },
        ),
      openTarget: async () =>
        openHttpTarget({ ...plan.target, runId: run.id, request: directRequest(), lagMs: 60_000 }),
      targetMissing: 'expected a key',
      words: fieldWords,
    }),
}).done;
