/** Imports as the main thread sees them: their files, their thread, and the door that the thread asks for. */
import type { Clock } from './base/clock.ts';
import type { Door } from './capture/accept.ts';
import type { Agreements } from './capture/agreements.ts';
import type { Settings } from './config/settings.ts';
import type { ThreadHost } from './host-thread.ts';
import { answersOfDoors } from './import-calls.ts';
import { hostImports } from './import-host.ts';
import { importDirs, openImportStaging } from './import-places.ts';
import type { ImportThreadData } from './import-thread.ts';
import type { Staging } from './imports/staging.ts';
import { createProjectDoor } from './imports/targets/project-door.ts';
import type { Metadata } from './metadata/database.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';

export interface ImportsDeps {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly db: Metadata;
  readonly door: Door;
  readonly agreements: Agreements;
  readonly clock: Clock;
  readonly shared: ImportThreadData['shared'];
  readonly store: ImportThreadData['store'];
}

export interface Imports {
  readonly thread: ThreadHost;
  /** What the API needs of them. */
  readonly places: { readonly staging: Staging; readonly uploadsDir: string; readonly uploadBytesMax: number };
}

/** Does not start the thread yet. Errors: the place of staging is none. */
export async function prepareImports(deps: ImportsDeps): Promise<Imports> {
  const { settings, log, metrics, db, door, agreements, clock, shared, store } = deps;
  const staging = await openImportStaging(settings);
  const isFiled = (projectId: number) => hasFiledAgreement(db, projectId);
  const answers = answersOfDoors((owner) => createProjectDoor({ ...owner, door, agreements, isFiled, clock }));
  return {
    thread: hostImports({ settings, shared, store }, { metrics, log, answers }),
    places: {
      staging,
      uploadsDir: importDirs(settings).uploads,
      uploadBytesMax: settings.importUploadBytesMax,
    },
  };
}

async function hasFiledAgreement(db: Metadata, projectId: number): Promise<boolean> {
  const row = await db
    .selectFrom('historical_migrations')
    .select('id')
    .where('project_id', '=', projectId)
    .where('state', '=', 'filed')
    .executeTakeFirst();
  return row !== undefined;
}
