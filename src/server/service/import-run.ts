/** The stages of a run, with source and target from the metadata store. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Call } from '../../base/calls.ts';
import type { Clock } from '../../base/clock.ts';
import type { Failpoint } from '../../base/failpoint.ts';
import type { Settings } from '../config/settings.ts';
import type { RunStore } from '../../stores/events/run-tables.ts';
import { projectIngestOver } from './import-ingest.ts';
import type { ReadPart } from './held-runs.ts';
import { tablesBesideStaging, type ImportDirs } from './import-dirs.ts';
import { openImportSource, openTableSource } from './import-source.ts';
import { openImportTransform, type ImportTransformDeps } from './import-transform.ts';
import { freeStoreBytes, projectLimits } from './historical-limits.ts';
import { assembleStages } from '../../imports/assemble.ts';
import type { DiskQuota } from '../../imports/stages/export/disk-quota.ts';
import { fieldWords } from '../../imports/run/advice-words.ts';
import { threadCount } from '../../imports/stages/check/threads/thread-count.ts';
import { isAwaitedByUndo } from '../../imports/stages/undo/undo-detail.ts';
import { knownEventNames, type AttachTurns, openProjectTarget } from '../../imports/targets/project-target.ts';
import { getRunSecrets } from '../../imports/run/run-store.ts';
import type { OpenStages } from '../../imports/run/run-worker.ts';
import type { Run } from '../../imports/run/run.ts';
import { activeTransformations, trackingPlanOf } from '../../imports/run/tracking-plan-of.ts';
import { findKeptOut } from '../../stores/metadata/kept-out-ids.ts';
import type { SourceHost, RecordChunk, Source } from '../../imports/source.ts';
import type { Staging } from '../../imports/staging.ts';
import type { Target } from '../../imports/target.ts';
import { openHttpTarget } from '../../imports/targets/http-target.ts';
import { outboundRequest } from '../../imports/targets/http-request.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { AllowList } from '../../plugins/outbound/allow-list.ts';
import type { OutboundFetch } from '../../plugins/outbound/outbound.ts';
import type { Log } from '../telemetry/log.ts';
import { loadTransformConfigs } from '../../pipeline/transform/transform-configs.ts';

/** The preflight of a run is not interactive, and must not fail because a machine is busy for some seconds. */
const preflightMsLeast = 20_000;

export interface ImportRunDeps {
  readonly db: Metadata;
  readonly store: RunStore;
  readonly staging: Staging;
  readonly quota: DiskQuota;
  readonly settings: Settings;
  readonly dirs: ImportDirs;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint;
  readonly allow: AllowList;
  readonly fetch: OutboundFetch;
  readonly stream: SourceHost['stream'];
  /** Sandbox for the code of transforms, created on first use. */
  readonly place: ImportTransformDeps['place'];
  /** Calls the main process. */
  readonly call: Call;
  /** Resolves when the current content of the project's historical lane is in the event store. */
  readonly waitUntilStored: (projectId: number, signal: AbortSignal) => Promise<void>;
  /** Shared by all runs of this process. */
  readonly turns: AttachTurns;
}

export function createImportStages(deps: ImportRunDeps, run: Run): OpenStages {
  const tempDir = join(deps.dirs.temp, run.id);
  const report = (name: string) => (part: string) => void deps.call(name, { run: run.id, part } satisfies ReadPart);
  const observer = { begins: report('readsPart'), ends: report('hasReadPart') };
  const { target } = run.options;
  const targetName = target.kind === 'http' ? target.url : 'the project';
  const stages = assembleStages({
    ...deps,
    openRunStore: async () => deps.store,
    eventBytesMax: deps.settings.captureEventBytesMax,
    threads: threadCount(deps.settings.importThreads),
    openSource: async () => {
      await mkdir(tempDir, { recursive: true, mode: 0o700 });
      return observeReads(await openImportSource(deps, run, tempDir), observer);
    },
    openTable: async (path) => {
      await mkdir(tempDir, { recursive: true, mode: 0o700 });
      return observeReads(openTableSource(deps, run.projectId, tempDir, path), observer);
    },
    openTransform: openImportTransform(deps, run.projectId),
    openTarget: () => openTarget(deps, run),
    targetMissing: `expected a project key for ${targetName}, got none; set it in the config, start a new run`,
    knownEvents: () => knownNames(deps, run),
    activeTransformations: () => transformationsOf(deps, run),
    trackingPlan: () => trackingPlanOf(deps.db, run.projectId, target, deps.clock.now()),
    ...(target.kind === 'project' && { keptOut: () => findKeptOut(deps.db, run.projectId) }),
    words: fieldWords,
    preflightMs: Math.max(preflightMsLeast, deps.settings.importPreflightMs),
    storeFreeBytes: () => freeStoreBytes(deps.settings),
    tablesBesideStaging: () => tablesBesideStaging(deps.settings),
    ...(target.kind === 'project' ? projectLimits(deps, run.projectId) : {}),
  });
  const close = async (): Promise<void> => {
    await stages[Symbol.asyncDispose]();
    await rm(tempDir, { recursive: true, force: true });
  };
  return { ...stages, [Symbol.asyncDispose]: close };
}

/** `undefined` if there is no key to load with. */
async function openTarget(
  { db, store, call, waitUntilStored, fetch, turns }: ImportRunDeps,
  run: Run,
): Promise<Target | undefined> {
  const { target } = run.options;
  const { id: runId, projectId } = run;
  if (target.kind === 'project') {
    const ingest = projectIngestOver(call, { projectId, runId });
    const drained = (signal: AbortSignal): Promise<void> => waitUntilStored(projectId, signal);
    const isWatched = async (): Promise<boolean> =>
      (await loadTransformConfigs(db)).some((config) => config.projectId === projectId);
    const isAwaited = (): Promise<boolean> => isAwaitedByUndo(db, run);
    return openProjectTarget({
      projectId,
      runId,
      ingest,
      store,
      isWatched,
      isAwaitedByUndo: isAwaited,
      turns,
      drained,
    });
  }
  const { apiKey, personalApiKey } = await getRunSecrets(db, runId);
  if (apiKey === undefined) return undefined;
  return openHttpTarget({ url: target.url, apiKey, personalApiKey, runId, request: outboundRequest(fetch) });
}

/** `undefined` if the names cannot be read; the check does without them. */
async function knownNames({ store, log }: ImportRunDeps, run: Run): Promise<ReadonlySet<string> | undefined> {
  if (run.options.target.kind !== 'project') return undefined;
  try {
    return await knownEventNames(store, run.projectId);
  } catch (error) {
    log.warn(
      { err: error, run: run.id },
      'import: failed to read names of stored events; check continues without them',
    );
    return undefined;
  }
}

async function transformationsOf({ db, clock }: ImportRunDeps, run: Run): Promise<readonly string[]> {
  return run.options.target.kind === 'project' ? activeTransformations(db, run.projectId, clock.now()) : [];
}

/** Called for each part of a source when it is opened and closed. */
interface ReadObserver {
  readonly begins: (part: string) => void;
  readonly ends: (part: string) => void;
}

/** Wraps a source so that the parts being read are known if the process ends. */
function observeReads(source: Source, observer: ReadObserver): Source {
  return { ...source, open: (part, context) => observed(source.open(part, context), part.key, observer) };
}

async function* observed(
  chunks: AsyncIterable<RecordChunk>,
  part: string,
  { begins, ends }: ReadObserver,
): AsyncGenerator<RecordChunk> {
  begins(part);
  try {
    yield* chunks;
  } finally {
    ends(part);
  }
}
