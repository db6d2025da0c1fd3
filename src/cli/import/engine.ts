import { statfs } from 'node:fs/promises';
import { systemClock } from '../../base/clock.ts';
import { assembleStages } from '../../imports/assemble.ts';
import { createDiskQuota } from '../../imports/stages/export/disk-quota.ts';
import { flagWords } from '../../imports/run/advice-words.ts';
import type { RunStages } from '../../imports/run/leased-run.ts';
import { startRunWorker } from '../../imports/run/run-worker.ts';
import type { Source } from '../../imports/source.ts';
import { threadCount } from '../../imports/stages/check/threads/thread-count.ts';
import { openHttpTarget } from '../../imports/targets/http-target.ts';
import { directRequest } from '../../imports/targets/http-request.ts';
import type { OpenRunTransform } from '../../imports/stages/check/segment/run-transform.ts';
import type { Staging } from '../../imports/staging.ts';
import type { Target } from '../../imports/target.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { earlierImports } from './earlier-imports.ts';
import { openLocalStaging } from './local-store.ts';
import { localTables, type LocalTables } from './local-tables.ts';
import { openSource, tableSource } from './open-source.ts';
import type { ImportRequest } from './request.ts';
import type { ImportDir } from './state-dir.ts';

/** Default limit of a service on the JSON of one event. */
const eventBytesMax = 1_000_000;
const pollMs = 100;
const leaseMs = 5_000;

export interface EngineDeps {
  readonly db: Metadata;
  readonly dir: ImportDir;
  readonly request: ImportRequest;
  /** `undefined` without a transform. */
  readonly openTransform: OpenRunTransform | undefined;
  readonly otherStateDirs: readonly string[];
}

/** Works on the run of a directory until it is closed. */
export interface Engine {
  /** Aborted, with the reason, when the engine itself fails. */
  readonly failed: AbortSignal;
  fail(error: unknown): void;
  /** Releases the run, which another process may then claim. */
  close(): Promise<void>;
}

/** Starts the engine. Errors: CommandError usage, when the settings of the source are invalid. */
export async function startEngine(deps: EngineDeps): Promise<Engine> {
  const { db, dir, request } = deps;
  const failed = new AbortController();
  const stop = new AbortController();
  const { source, close } = openSource(request, dir.temp);
  const tables = localTables(dir);
  const stages = await stagesFor(deps, source, tables);
  const worker = startRunWorker({
    db,
    stagesOf: () => Promise.resolve(stages),
    clock: systemClock,
    signal: stop.signal,
    concurrency: 1,
    onlyRun: dir.id,
    words: flagWords,
    pollMs,
    log: createLog('silent'),
    leaseMs,
  });
  return {
    failed: failed.signal,
    fail: (error) => failed.abort(error),
    close: async () => {
      stop.abort(new Error('the command ends'));
      await worker.done;
      await tables.close();
      await close();
    },
  };
}

async function stagesFor(
  { db, dir, request, openTransform, otherStateDirs }: EngineDeps,
  source: Source,
  tables: LocalTables,
): Promise<RunStages> {
  const staging = await openLocalStaging(dir);
  return assembleStages({
    ...openParts(dir, request, { source, staging, openTransform }),
    db,
    openRunStore: tables.open,
    earlier: earlierImports(dir, { apiKey: request.apiKey, otherStateDirs }),
    openTable: async (path) => tableSource(request, path, dir.temp),
    failpoint: () => {},
    eventBytesMax,
    threads: threadCount(request.threads),
    targetMissing: 'expected a project key to load with; give --project-key',
  });
}

interface OpenedParts extends Pick<EngineDeps, 'openTransform'> {
  readonly source: Source;
  readonly staging: Staging;
}

/** Returns the parts that an import and its preflight share. */
export function openParts(
  dir: Pick<ImportDir, 'id' | 'staging'>,
  request: ImportRequest,
  { source, staging, openTransform }: OpenedParts,
) {
  const target = targetOf(dir, request);
  return {
    staging,
    quota: createDiskQuota({ staging, budgetBytes: 0, freeBytes: () => freeBytes(dir.staging) }),
    tablesBesideStaging: async () => true,
    clock: systemClock,
    openSource: async () => source,
    openTransform,
    openTarget: async () => target,
    words: flagWords,
  };
}

function targetOf(
  { id }: Pick<ImportDir, 'id'>,
  { options, projectKey, apiKey: personalApiKey }: ImportRequest,
): Target | undefined {
  const { target } = options;
  if (target.kind !== 'http' || projectKey === undefined || options.last === 'check') return undefined;
  return openHttpTarget({ url: target.url, apiKey: projectKey, personalApiKey, runId: id, request: directRequest() });
}

/** Returns the free bytes on the disk of the state directory. */
async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
