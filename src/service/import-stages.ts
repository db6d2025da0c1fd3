/** Puts the stages of one run together: its source, its target, and what is between them. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Call } from '../base/calls.ts';
import type { Clock } from '../base/clock.ts';
import type { Failpoint } from '../base/failpoint.ts';
import type { Settings } from '../config/settings.ts';
import type { EventStore } from '../eventstore/eventstore.ts';
import { projectDoorOver } from './import-calls.ts';
import type { ImportDirs } from './import-places.ts';
import { createCheckStage } from '../imports/stages/check/check-stage.ts';
import { createExportStage } from '../imports/stages/export/export-stage.ts';
import { withRoom, type StagingRoom } from '../imports/stages/export/staging-room.ts';
import { RunFailedError, type RunStage } from '../imports/run/held-run.ts';
import { knownEventNames } from '../imports/targets/known-event-names.ts';
import { createLoadStage } from '../imports/stages/load/load-stage.ts';
import { createReportStage } from '../imports/stages/report/report-stage.ts';
import { getRun, getRunSecrets } from '../imports/run/run-store.ts';
import type { OpenStages } from '../imports/run/run-worker.ts';
import type { Run } from '../imports/run/run.ts';
import { sleep } from '../imports/sleep.ts';
import type { Source, SourceHost } from '../imports/source.ts';
import type { Staging } from '../imports/staging.ts';
import type { Target, TargetReader } from '../imports/target.ts';
import { openHttpTarget } from '../imports/targets/http.ts';
import { outboundRequest } from '../imports/targets/post.ts';
import { openProjectTarget } from '../imports/targets/project.ts';
import { createVerifyStage } from '../imports/stages/verify/verify-stage.ts';
import type { Metadata } from '../metadata/database.ts';
import type { AllowList } from '../outbound/allow-list.ts';
import { resolveAllowed } from '../outbound/resolve-allowed.ts';
import { findAnyConfig, listConfigs } from '../plugins/configs/stored-config.ts';
import { missingRequired, withDefaults } from '../plugins/check-settings.ts';
import type { OutboundFetch } from '../outbound/outbound.ts';
import { isImportSource } from '../plugins/plugin.ts';
import { builtInRegistry } from '../plugins/built-in/registry.ts';
import type { Log } from '../telemetry/log.ts';

export interface ImportParts {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly staging: Staging;
  readonly room: StagingRoom;
  readonly settings: Settings;
  readonly dirs: ImportDirs;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint;
  readonly allow: AllowList;
  readonly fetch: OutboundFetch;
  readonly stream: SourceHost['stream'];
  /** To the main thread. */
  readonly call: Call;
  /** Resolves when everything that is in the historical lane now is in the event store. */
  readonly drained: (signal: AbortSignal) => Promise<void>;
}

/** Source and target are made when a stage needs them, so that a run whose config is gone still ends what was staged. */
export function createImportStages(parts: ImportParts, run: Run): OpenStages {
  const { db, staging, clock, failpoint, settings } = parts;
  const tempDir = join(parts.dirs.temp, run.id);
  const onSource: RunStage = async (held) => {
    await mkdir(tempDir, { recursive: true, mode: 0o700 });
    const source = await openSource(parts, run, tempDir);
    await createExportStage({ ...parts, source, sleep })(held);
  };
  return {
    export: onSource,
    check: async (held) => {
      const known = await knownNames(parts, run);
      const project = known === undefined ? {} : { project: { knownEvents: async () => known } };
      const eventBytesMax = settings.captureEventBytesMax;
      await createCheckStage({
        staging: withRoom(staging, parts.room, held),
        clock,
        failpoint,
        eventBytesMax,
        reader: await readerOf(parts, run),
        ...project,
      })(held);
    },
    load: async (held) => {
      const target = await openTarget(parts, run);
      await createLoadStage({ target, staging, clock, sleep, failpoint })(held);
    },
    verify: async (held) => {
      const target = await openTarget(parts, run);
      const activeTransformations = () => transformationsOf(parts, run);
      await createVerifyStage({ target, staging, clock, sleep, failpoint, activeTransformations })(held);
    },
    report: createReportStage({ staging, clock, failpoint, current: (id) => getRun(db, id) }),
    [Symbol.asyncDispose]: () => rm(tempDir, { recursive: true, force: true }),
  };
}

/** With the settings as they are now: a key that was renewed counts. */
async function openSource(parts: ImportParts, run: Run, tempDir: string): Promise<Source> {
  const config = await findAnyConfig(parts.db, run.configId, parts.clock.now());
  if (config === undefined || config.projectId !== run.projectId) {
    throw new RunFailedError('expected the config that this run belongs to, got none: it was deleted; start a new run');
  }
  const plugin = builtInRegistry.get(config.plugin.slug);
  if (plugin === undefined || !isImportSource(plugin)) {
    throw new RunFailedError(
      `expected "${config.plugin.name}" to be an import source of this program, got another plugin`,
    );
  }
  const missing = missingRequired(plugin.fields, config.settings);
  if (missing.length > 0) {
    throw new RunFailedError(
      `expected the settings ${missing.join(', ')} of the config, got none; set them and resume`,
    );
  }
  const { allow, fetch, stream, clock, dirs } = parts;
  return plugin.createSource(withDefaults(plugin.fields, config.settings), {
    fetch,
    stream,
    allowedDirs: dirs.allowed,
    uploadsDir: join(dirs.uploads, String(run.projectId)),
    resolve: async (host) => (await resolveAllowed(host, 0, allow)).address,
    now: () => clock.now(),
    tempDir,
  });
}

async function openTarget({ db, store, call, drained, fetch }: ImportParts, run: Run): Promise<Target> {
  const { target } = run.options;
  const { id: runId, projectId } = run;
  if (target.kind === 'project') {
    return openProjectTarget({ projectId, runId, door: projectDoorOver(call, { projectId, runId }), store, drained });
  }
  const { apiKey, personalApiKey } = await getRunSecrets(db, runId);
  if (apiKey === undefined) {
    throw new RunFailedError(
      `expected a project key for ${target.url}, got none; set it in the config, start a new run`,
    );
  }
  return openHttpTarget({ url: target.url, apiKey, personalApiKey, runId, request: outboundRequest(fetch) });
}

/** A run that lacks a key is told so when it loads. */
async function readerOf(parts: ImportParts, run: Run): Promise<TargetReader | undefined> {
  if (run.options.target.kind === 'http' && (await getRunSecrets(parts.db, run.id)).apiKey === undefined)
    return undefined;
  return (await openTarget(parts, run)).reader;
}

/** Undefined: nobody can tell, and the check does without. */
async function knownNames({ store, log }: ImportParts, run: Run): Promise<ReadonlySet<string> | undefined> {
  if (run.options.target.kind !== 'project') return undefined;
  try {
    return await knownEventNames(store, run.projectId);
  } catch (error) {
    log.warn({ err: error, run: run.id }, 'import: the names of stored events could not be read; the check goes on');
    return undefined;
  }
}

async function transformationsOf({ db, clock }: ImportParts, run: Run): Promise<readonly string[]> {
  if (run.options.target.kind !== 'project') return [];
  const of = { projectId: run.projectId, family: 'transformation', now: clock.now() } as const;
  const configs = await listConfigs(db, of);
  return configs.filter(({ enabled }) => enabled).map(({ name, plugin }) => name || plugin.name);
}
