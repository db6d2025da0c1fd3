import { statfs } from 'node:fs/promises';
import { systemClock } from '../../base/clock.ts';
import { createCheckStage } from '../../imports/stages/check/check-stage.ts';
import { createExportStage } from '../../imports/stages/export/export-stage.ts';
import { createStagingRoom, withRoom } from '../../imports/stages/export/staging-room.ts';
import { RunFailedError, type RunStages } from '../../imports/run/held-run.ts';
import { createLoadStage } from '../../imports/stages/load/load-stage.ts';
import { createReportStage } from '../../imports/stages/report/report-stage.ts';
import { getRun } from '../../imports/run/run-store.ts';
import { startRunWorker } from '../../imports/run/run-worker.ts';
import { sleep } from '../../imports/sleep.ts';
import type { Source } from '../../imports/source.ts';
import { openDirStaging } from '../../imports/staging/dir-staging.ts';
import { openHttpTarget } from '../../imports/targets/http.ts';
import { directRequest } from '../../imports/targets/post.ts';
import type { Target } from '../../imports/target.ts';
import { createVerifyStage } from '../../imports/stages/verify/verify-stage.ts';
import type { Metadata } from '../../metadata/database.ts';
import { createLog } from '../../telemetry/log.ts';
import { openSource } from './open-source.ts';
import { leaseMs } from './prepare-run.ts';
import type { ImportRequest } from './request.ts';
import type { ImportDir } from './state-dir.ts';

/** What the door of a service takes by default, in bytes of JSON of one event. */
const eventBytesMax = 1_000_000;
const pollMs = 100;

export interface EngineDeps {
  readonly db: Metadata;
  readonly dir: ImportDir;
  readonly request: ImportRequest;
}

/** Works on the one run of the directory until it is closed. */
export interface Engine {
  /** Aborted, with the reason, when the engine itself cannot go on. */
  readonly failed: AbortSignal;
  fail(error: unknown): void;
  /** Lets go of the run, which another process may then take up. */
  close(): Promise<void>;
}

/** Errors: CommandError usage, when the settings of the source cannot work. */
export async function startEngine({ db, dir, request }: EngineDeps): Promise<Engine> {
  const failed = new AbortController();
  const stop = new AbortController();
  const { source, close } = openSource(request, dir.temp);
  const stages = await assemble({ db, dir, request }, source);
  const worker = startRunWorker({
    db,
    stagesOf: () => Promise.resolve(stages),
    clock: systemClock,
    signal: stop.signal,
    concurrency: 1,
    onlyRun: dir.id,
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
      await close();
    },
  };
}

async function assemble({ db, dir, request }: EngineDeps, source: Source): Promise<RunStages> {
  const staging = await openDirStaging(dir.staging);
  const clock = systemClock;
  const room = createStagingRoom({ staging, budgetBytes: 0, freeBytes: () => freeBytes(dir.staging), sleep });
  const target = request.options.last === 'check' ? undefined : targetOf(dir, request);
  const needed = <T>(value: T | undefined): T => {
    if (value === undefined) throw new RunFailedError('expected a project key to load with; give --api-key');
    return value;
  };
  const failpoint = (): void => {};
  return {
    export: createExportStage({ source, staging, room, clock, sleep, failpoint }),
    check: (held) => {
      const { reader } = target ?? { reader: undefined };
      return createCheckStage({ staging: withRoom(staging, room, held), reader, eventBytesMax, clock })(held);
    },
    load: (held) => createLoadStage({ target: needed(target), staging, clock, sleep, failpoint })(held),
    verify: (held) => createVerifyStage({ target: needed(target), staging, clock, sleep })(held),
    report: createReportStage({ staging, clock, current: (id) => getRun(db, id) }),
  };
}

function targetOf({ id }: ImportDir, { options, apiKey, personalApiKey }: ImportRequest): Target {
  const { target } = options;
  if (target.kind !== 'http' || apiKey === undefined)
    throw new RunFailedError('expected a target with a key; give --to');
  return openHttpTarget({ url: target.url, apiKey, personalApiKey, runId: id, request: directRequest() });
}

/** On the disk of the state directory. */
async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
