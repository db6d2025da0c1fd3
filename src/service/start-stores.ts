/** The stores, opened, brought to the schema of this program, and watched. */
import { lanes } from '../eventlog/eventlog.ts';
import type { EventStore } from '../eventstore/eventstore.ts';
import type { HealthResult } from '../http/health.ts';
import type { Bootstrapped } from '../metadata/bootstrap.ts';
import type { Metadata } from '../metadata/database.ts';
import { readCursor } from '../pipeline/cursors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { startBacklogAges, type BacklogAges } from './backlog-ages.ts';
import { openImportStaging } from './import-dirs.ts';
import { startMetadata } from './metadata.ts';
import type { ServiceDeps } from './service-deps.ts';
import { openEventLog, openEventStore, startEmbeddedStore, type EmbeddedStore, type EventLog } from './stores.ts';

export type StoresDeps = Pick<ServiceDeps, 'settings' | 'log' | 'metrics' | 'clock'>;
export type Stores = Pick<ServiceDeps, 'db' | 'store' | 'eventLog' | 'staging' | 'shared'>;

export interface StartedStores {
  readonly stores: Stores;
  readonly first: Bootstrapped;
  readonly health: { readonly metadata: () => Promise<HealthResult>; readonly ages: BacklogAges };
}

/** `parts` takes what has to be stopped. */
export async function startStores(deps: StoresDeps, parts: AsyncDisposableStack): Promise<StartedStores> {
  const starting = [startMetadata(deps, parts), startEventStore(deps, parts)] as const;
  // When one fails the other must have ended too: what starts after everything was taken down would be left running.
  await Promise.allSettled(starting);
  const [{ db, first, health: metadata }, { store, embedded }] = await Promise.all(starting);
  const { eventLog, ages } = await startEventLog({ ...deps, db }, parts);
  const staging = await openImportStaging(deps.settings);
  const shared = { eventLog: eventLog.shared, embedded };
  return { stores: { db, store, eventLog, staging, shared }, first, health: { metadata, ages } };
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
  const store = await openEventStore(settings, embedded);
  parts.defer(() => store.close());
  if (embedded === undefined) return { store, embedded };
  const { socketPath, spoolDir } = embedded;
  return { store, embedded: { socketPath, spoolDir } };
}

async function startEventLog(
  { settings, log, metrics, db }: StoresDeps & { readonly db: Metadata },
  parts: AsyncDisposableStack,
): Promise<{ readonly eventLog: EventLog; readonly ages: BacklogAges }> {
  const [live, historical] = await Promise.all([readCursor(db, 'live'), readCursor(db, 'historical')]);
  const eventLog = await openEventLog(settings, {
    committed: { live: live.seq, historical: historical.seq },
    onProblem: (sentence) => log.error({ component: 'event_log' }, sentence),
  });
  parts.defer(() => eventLog.close());
  const ages = await startBacklogAges(eventLog.shared, parts);
  metrics.beforeText(() => gaugeBacklog(metrics, eventLog, ages));
  return { eventLog, ages };
}

function gaugeBacklog(metrics: Metrics, eventLog: EventLog, ages: BacklogAges): void {
  for (const lane of lanes) {
    const { events, bytes } = eventLog.backlog(lane);
    metrics.set('millrace_buffer_events', { lane }, events);
    metrics.set('millrace_buffer_bytes', { lane }, bytes);
    metrics.set('millrace_buffer_oldest_seconds', { lane }, ages.seconds(lane));
  }
}
