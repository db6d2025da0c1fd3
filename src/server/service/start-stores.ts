/** The stores, opened, brought to the schema of this program, and watched. */
import type { EventStore, StoreHealth } from '../../stores/events/eventstore.ts';
import type { HealthResult } from '../http/health.ts';
import type { Bootstrapped } from '../../stores/metadata/bootstrap.ts';
import { withMigrationLock } from '../../stores/metadata/migration-lock.ts';
import type { BacklogAges } from './backlog-ages.ts';
import { diskHealth } from './disk-health.ts';
import { openImportStaging } from './import-dirs.ts';
import { claimMetadata, prepareMetadata } from './metadata.ts';
import type { ServiceDeps } from './service-deps.ts';
import { startEventLog } from './start-event-log.ts';
import { storeWhenAsked } from './store-when-asked.ts';
import { openEventStore, startEmbeddedStore, type EmbeddedStore } from './stores.ts';
import { watchParts } from './watch-parts.ts';

export type StoresDeps = Pick<ServiceDeps, 'settings' | 'log' | 'metrics' | 'clock'>;
export type Stores = Pick<ServiceDeps, 'db' | 'store' | 'eventLog' | 'staging' | 'shared'>;

export interface StartedStores {
  readonly stores: Stores;
  readonly first: Bootstrapped;
  readonly health: {
    readonly metadata: () => Promise<HealthResult>;
    readonly ages: BacklogAges;
    /** Of the event log's server. */
    readonly logSilentSeconds: () => number;
    readonly disk: () => Promise<HealthResult>;
    /** Undefined: a server checks its own. */
    readonly storedParts: (() => StoreHealth) | undefined;
  };
}

/** `parts` takes what has to be stopped. */
export async function startStores(deps: StoresDeps, parts: AsyncDisposableStack): Promise<StartedStores> {
  const metadata = await claimMetadata(deps, parts);
  const { db, health } = metadata;
  const [first, { store, embedded }] = await withMigrationLock({ ...metadata, log: deps.log }, async () => {
    const starting = [prepareMetadata(deps, metadata), startEventStore(deps, parts)] as const;
    // When one fails the other must have ended too: what starts after everything was taken down would be left running.
    await Promise.allSettled(starting);
    return Promise.all(starting);
  });
  const { eventLog, ages, silentSeconds, shared: sharedLog } = await startEventLog({ ...deps, db }, parts);
  const staging = await openImportStaging(deps.settings);
  const shared = { eventLog: sharedLog, embedded };
  const storedParts = await watchParts({ ...deps, store }, parts);
  const watched = { disk: () => diskHealth(deps.settings.dataDir), storedParts };
  const stores = { db, store, eventLog, staging, shared };
  return { stores, first, health: { ...watched, metadata: health, ages, logSilentSeconds: silentSeconds } };
}

async function startEventStore(
  { settings, log, metrics }: StoresDeps,
  parts: AsyncDisposableStack,
): Promise<{ readonly store: EventStore; readonly embedded: EmbeddedStore | undefined }> {
  const onRestart = (reason: string): void => {
    metrics.count('millrace_store_restarts_total', {});
    log.warn({ reason }, 'the embedded event store is started again');
  };
  const embedded = settings.clickhouseUrl === '' ? await startEmbeddedStore(settings, { log, onRestart }) : undefined;
  parts.defer(() => embedded?.close());
  // Capture alone looks into it for the agreements on history at most, and starts while the server is away.
  const isOurs = settings.roles.some((role) => role !== 'capture');
  const store = isOurs
    ? await openEventStore(settings, embedded, { migrates: true, log })
    : storeWhenAsked(() => openEventStore(settings, embedded));
  parts.defer(() => store.close());
  if (embedded === undefined) return { store, embedded };
  const { socketPath, spoolDir } = embedded;
  return { store, embedded: { socketPath, spoolDir } };
}
