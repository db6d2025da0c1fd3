/** Exports of the service, in the process of imports: encoding years of events must not delay anything else. */
import type { Call } from '../../base/calls.ts';
import type { Clock } from '../../base/clock.ts';
import type { Failpoint } from '../../base/failpoint.ts';
import { repeat } from '../../base/repeat.ts';
import { lanes } from '../../log/eventlog.ts';
import type { AllowList } from '../../plugins/outbound/allow-list.ts';
import type { OutboundStream } from '../../plugins/outbound/outbound.ts';
import { resolveAllowed } from '../../plugins/outbound/resolve-allowed.ts';
import { expireTasks } from '../../queue/tasks/task-store.ts';
import { runTasks } from '../../queue/tasks/task-runner.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { exportKind, exportKindName, type PlaceOf } from '../../stores/export/run-export.ts';
import type { ExportPlace } from '../../stores/export/export-place.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Settings } from '../config/settings.ts';
import type { Log } from '../telemetry/log.ts';
import { exportRoom, openExportStorage, removeOldExports } from './export-storage.ts';
import { waitUntilStored } from './stored-so-far.ts';

export interface ExportWorkerDeps {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  /** Calls the main thread. */
  readonly call: Call;
  readonly stream: OutboundStream;
  readonly allow: AllowList;
  readonly failpoint: Failpoint;
  /** No other process works on exports of this store. */
  readonly isAlone: boolean;
  readonly signal: AbortSignal;
}

const removeEveryMs = 600_000;

/** Works on exports and removes old ones until the signal. */
export async function workOnExports(deps: ExportWorkerDeps): Promise<void> {
  const { db, store, settings, clock, log, call, failpoint, signal } = deps;
  const storage = await openExportStorage(settings);
  // After a crash, the leases of the dead process need not expire first.
  if (deps.isAlone) await expireTasks(db, exportKindName);
  const kind = exportKind({
    db,
    store,
    now: () => clock.now(),
    failpoint,
    waitUntilStored: async (projectId, stop) => {
      for (const lane of lanes) await waitUntilStored({ db, call }, { projectId, lane }, stop);
    },
    openPlace: placesOf(deps, storage),
  });
  const databaseClock = createDatabaseClock(db);
  const keepDays = settings.exportKeepDays;
  const removing = repeat(
    removeEveryMs,
    async () => removeOldExports({ db, storage, keepDays }, await databaseClock.now()),
    { signal, onTrouble: (err) => log.error({ err }, 'failed to remove files of old exports; retrying') },
  );
  await Promise.all([removing, runTasks({ db, log, signal }, [kind])]);
}

/** Clients of buckets are loaded with the first export. */
function placesOf(
  { settings, stream, allow, clock }: ExportWorkerDeps,
  storage: Awaited<ReturnType<typeof openExportStorage>>,
): (of: PlaceOf) => Promise<ExportPlace> {
  const resolve = async (host: string, port: number): Promise<string> =>
    (await resolveAllowed(host, port, allow)).address;
  const assertRoom = exportRoom(storage, settings);
  return async (of) => {
    const { openPlace } = await import('../../stores/export/places/open-place.ts');
    return openPlace({ storage, assertRoom, stream, resolve, now: () => clock.now() }, of);
  };
}
