/** A run that is loaded into a new project of a real store, to be verified. */
import { zstdDecompressSync } from 'node:zlib';
import { systemClock } from '../../src/base/clock.ts';
import { parseExactValues } from '../../src/base/exact-json.ts';
import { createLoadStage } from '../../src/imports/stages/load/load-stage.ts';
import { createVerifyStage, type VerifyDeps } from '../../src/imports/stages/verify/verify-stage.ts';
import type { VerifyResult } from '../../src/imports/run/results.ts';
import { stagingKeys, type Staging } from '../../src/imports/staging.ts';
import type { Target, TargetReader } from '../../src/imports/target.ts';
import { createAttachTurns, openProjectTarget } from '../../src/imports/targets/project-target.ts';
import type { RunStore } from '../../src/stores/events/run-tables.ts';
import type { SentEvent } from './batch-service.ts';
import { bytesOf } from './check-stage.ts';
import { createTestRun, type TestRun } from './leased-run.ts';
import { eventsOf, stageDays, tempStaging, type TestEvent } from './staged-days.ts';
import { createStoreInserter, openIngest } from './store-ingest.ts';

export interface LoadedRun extends AsyncDisposable {
  readonly test: TestRun;
  readonly staging: Staging;
  readonly target: Target;
  readonly reader: TargetReader;
  readonly events: readonly TestEvent[];
  readonly insert: (events: readonly SentEvent[]) => Promise<void>;
  verify(more?: Partial<VerifyDeps>): Promise<VerifyResult>;
}

/** Loads events through the ingest of a new project; `change` decides what the store gets of each batch. */
export async function loadRun(
  runStore: RunStore,
  change: (events: readonly SentEvent[]) => readonly SentEvent[] = (events) => events,
  before: (insert: LoadedRun['insert']) => Promise<void> = async () => {},
  made: (event: TestEvent) => TestEvent = (event) => event,
  counts: Readonly<Record<string, number>> = { '2024-03-01': 300, '1969-12-30': 20 },
): Promise<LoadedRun> {
  const test = createTestRun('run-1');
  const { projectId } = test.run;
  const temp = await tempStaging();
  const { staging } = temp;
  const insert = createStoreInserter(runStore, projectId);
  await before(insert);
  const target = openProjectTarget({
    projectId,
    runId: 'run-1',
    ingest: openIngest(async (body) => {
      const lines = zstdDecompressSync(body).toString('utf8').split('\n');
      await insert(change(lines.map((line) => parseExactValues(line) as unknown as SentEvent)));
    }),
    store: runStore,
    isWatched: async () => true,
    isAwaitedByUndo: async () => false,
    turns: createAttachTurns(),
    drained: () => Promise.resolve(),
  });
  const days = Object.fromEntries(
    Object.entries(counts).map(([day, count]) => [day, eventsOf('run-1', day, count).map(made)]),
  );
  await stageDays(test, { staging, runStore }, days, 64);
  const deps = { target, staging, runStore, frameEvents: 64, clock: systemClock, sleep, failpoint: () => {} };
  await createLoadStage(deps)(test.hold().leased);
  return {
    test,
    staging,
    target,
    reader: target.reader as TargetReader,
    insert,
    events: Object.values(days).flat(),
    verify: async (more = {}) => {
      await createVerifyStage({ ...deps, ...more })(test.hold().leased);
      return JSON.parse((await bytesOf(staging, stagingKeys.verify('run-1'))).toString()) as VerifyResult;
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

async function sleep(_ms: number, signal: AbortSignal): Promise<void> {
  await new Promise((done) => setTimeout(done, 5));
  signal.throwIfAborted();
}
