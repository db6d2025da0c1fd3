/** Imports as the main thread sees them: their files, their thread, and the door that the thread asks for. */
import type { Clock } from '../base/clock.ts';
import type { Door } from '../batch/door.ts';
import type { Agreements } from '../capture/agreements.ts';
import type { Settings } from '../config/settings.ts';
import type { ThreadHost } from './host-thread.ts';
import { answersOfDoors } from './import-calls.ts';
import { hostImports } from './import-host.ts';
import type { HealthResult } from '../http/health.ts';
import { importDirs, openImportStaging } from './import-places.ts';
import type { ImportThreadData } from './import-thread.ts';
import { runFigures } from '../imports/run/run-figures.ts';
import { runStates } from '../imports/run/run.ts';
import type { Staging } from '../imports/staging.ts';
import { createProjectDoor, hasFiledAgreement } from '../imports/targets/project-door.ts';
import type { Metadata } from '../metadata/database.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics, MetricsRegistry } from '../telemetry/metrics.ts';

export interface ImportsDeps {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly db: Metadata;
  readonly door: Door;
  readonly agreements: Agreements;
  readonly clock: Clock;
  readonly shared: ImportThreadData['shared'];
  readonly store: ImportThreadData['store'];
}

export interface Imports {
  readonly thread: ThreadHost;
  readonly health: () => Promise<HealthResult>;
  /** What the API needs of them. */
  readonly places: {
    readonly staging: Staging;
    readonly uploadsDir: string;
    readonly uploadBytesMax: number;
    readonly uploadsBytesMax: number;
  };
}

/** Does not start the thread yet. Errors: the place of staging is none. */
export async function prepareImports(deps: ImportsDeps): Promise<Imports> {
  const { settings, log, metrics, db, door, agreements, clock, shared, store } = deps;
  const staging = await openImportStaging(settings);
  const isFiled = (projectId: number) => hasFiledAgreement(db, projectId);
  const answers = answersOfDoors((owner) => createProjectDoor({ ...owner, door, agreements, isFiled, clock }));
  const thread = hostImports({ settings, shared, store }, { metrics, log, answers });
  metrics.beforeText(() => gaugeRuns(metrics, db, clock.now()));
  return {
    thread,
    health: async () => importHealth(thread),
    places: {
      staging,
      uploadsDir: importDirs(settings).uploads,
      uploadBytesMax: settings.importUploadBytesMax,
      uploadsBytesMax: settings.importUploadsBytesMax,
    },
  };
}

/** Events are taken without it: that it is away makes the service no less ready. */
export function importHealth(thread: ThreadHost): HealthResult {
  const detail =
    'The thread of imports has ended and is being started again; runs wait for it and go on where they were.';
  return thread.running() ? { ok: true, optional: true } : { ok: false, optional: true, detail };
}

async function gaugeRuns(metrics: Metrics, db: Metadata, now: number): Promise<void> {
  const { byState, waiting, stalledMs } = await runFigures(db, now);
  for (const state of runStates) metrics.set('millrace_import_runs', { state }, byState[state] ?? 0);
  metrics.set('millrace_import_runs_waiting', {}, waiting);
  metrics.set('millrace_import_stalled_seconds', {}, stalledMs / 1000);
}
