/** Opens, migrates and monitors the stores. */
import {
  StoreUnavailableError,
  type EventStore,
  type StoreHealth,
  type StoreReader,
} from '../../stores/events/eventstore.ts';
import type { HealthResult } from '../http/health.ts';
import { bootstrap, type Bootstrapped } from '../../stores/metadata/bootstrap.ts';
import { withMigrationLock } from '../../stores/metadata/migration-lock.ts';
import { diskHealth } from './data-dir.ts';
import { startBacklogAges, type BacklogAges } from './backlog-ages.ts';
import { openExportStorage } from './export-storage.ts';
import { openImportStaging } from './import-dirs.ts';
import type { ServiceDeps } from './service-deps.ts';
import {
  openEventStore,
  startEmbeddedStore,
  connectionsPerThread,
  openMetadata,
  openFileLog,
  openSharedLog,
  type EmbeddedStore,
  type SharedLogWriter,
  type SharedStores,
} from './stores.ts';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Settings } from '../config/settings.ts';
import { claimDatabase, type DatabaseClaim } from '../../stores/metadata/claim-database.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { migrate, schemaVersion } from '../../stores/metadata/migrate.ts';
import type { Dialect } from '../../stores/metadata/database.ts';
import { createSlots } from '../../stores/metadata/slot-leases.ts';
import { deleteExpiredSessions } from '../../stores/metadata/sessions.ts';
import { databaseMoveProblem } from '../../stores/move/move-state.ts';
import { unfinishedMove } from '../../stores/move/unfinished-move.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import type { Log } from '../telemetry/log.ts';
import { isCluster } from '../config/event-log-kind.ts';
import { ConfigError } from '../config/load.ts';
import { setTimeout as sleep, setTimeout } from 'node:timers/promises';
import { lanes, LogUnavailableError, type EventLogWriter } from '../../log/eventlog.ts';
import { readCursor } from '../../pipeline/cursors.ts';
import { sharedWriterDeps } from './shared-log-deps.ts';
import { createPartChecks } from '../../stores/events/check-parts.ts';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { missingParts, missingText, notedParts, type NotedPart } from '../../stores/events/noted-parts.ts';

export type StoresDeps = Pick<ServiceDeps, 'settings' | 'log' | 'metrics' | 'clock'>;
export type Stores = Pick<ServiceDeps, 'db' | 'store' | 'eventLog' | 'staging' | 'exports' | 'shared'>;

export interface StartedStores {
  readonly stores: Stores;
  readonly first: Bootstrapped;
  readonly health: {
    readonly metadata: () => Promise<HealthResult>;
    readonly ages: BacklogAges;
    /** Seconds since the event log's server last answered. */
    readonly logSilentSeconds: () => number;
    readonly disk: () => Promise<HealthResult>;
    /** `undefined` if a server checks its own parts. */
    readonly storedParts: (() => StoreHealth) | undefined;
  };
}

/** `parts` receives what must be stopped. */
export async function startStores(deps: StoresDeps, parts: AsyncDisposableStack): Promise<StartedStores> {
  const metadata = await claimMetadata(deps, parts);
  const { db, health } = metadata;
  const [first, { store, embedded }] = await withMigrationLock({ ...metadata, log: deps.log }, async () => {
    const starting = [prepareMetadata(deps, metadata), startEventStore(deps, parts)] as const;
    // If one fails, the other must have ended too: otherwise it would keep running after everything was closed.
    await Promise.allSettled(starting);
    return Promise.all(starting);
  });
  const { eventLog, ages, silentSeconds, shared: sharedLog } = await startEventLog({ ...deps, db }, parts);
  const staging = await openImportStaging(deps.settings);
  const exports = await openExportStorage(deps.settings);
  const shared = { eventLog: sharedLog, embedded };
  const storedParts = await watchParts({ ...deps, store }, parts);
  const watched = { disk: () => diskHealth(deps.settings.dataDir), storedParts };
  const stores = { db, store, eventLog, staging, exports, shared };
  return { stores, first, health: { ...watched, metadata: health, ages, logSilentSeconds: silentSeconds } };
}

async function startEventStore(
  { settings, log, metrics }: StoresDeps,
  parts: AsyncDisposableStack,
): Promise<{ readonly store: EventStore; readonly embedded: EmbeddedStore | undefined }> {
  const onRestart = (reason: string): void => {
    metrics.count('millrace_store_restarts_total', {});
    log.warn({ reason }, 'embedded event store restarted');
  };
  const embedded = settings.clickhouseUrl === '' ? await startEmbeddedStore(settings, { log, onRestart }) : undefined;
  parts.defer(() => embedded?.close());
  // Capture alone at most reads the agreements' usage, and starts while the server is unavailable.
  const isOurs = settings.roles.some((role) => role !== 'capture');
  const store = isOurs
    ? await openEventStore(settings, embedded, { migrates: true, log })
    : storeWhenAsked(() => openEventStore(settings, embedded));
  parts.defer(() => store.close());
  if (embedded === undefined) return { store, embedded };
  const { socketPath, spoolDir } = embedded;
  return { store, embedded: { socketPath, spoolDir } };
}

/** A store that is connected on first use, and again until that succeeds. */
export function storeWhenAsked(connect: () => Promise<EventStore>): EventStore {
  let connected: Promise<EventStore> | undefined;
  const store = (): Promise<EventStore> => {
    if (connected !== undefined) return connected;
    const connecting = connect();
    connected = connecting;
    connecting.catch(() => (connected = undefined));
    return connecting;
  };
  return {
    insertBatch: async (...of) => (await store()).insertBatch(...of),
    deleteRun: async (rows, watch) => (await store()).deleteRun(rows, watch),
    removeExpired: async (month, expiries) => (await store()).removeExpired(month, expiries),
    erase: async (rows, watch) => (await store()).erase(rows, watch),
    query: async (sql, params) => (await store()).query(sql, params),
    waitForReplicas: async (run) => (await store()).waitForReplicas(run),
    health: async () => (await store()).health(),
    close: async () => (await connected?.catch(() => undefined))?.close(),
  };
}

/** The content of the store is incomplete. */
class UnfinishedMoveError extends Error {
  override name = 'UnfinishedMoveError';
  constructor() {
    super(
      'expected a database that is ready for use, got one that "millrace move" has begun to fill; run the same move again to the end',
    );
  }
}

type MetadataDeps = { readonly settings: Settings; readonly log: Log; readonly clock: Clock };

interface ClaimedMetadata {
  readonly db: Metadata;
  readonly dialect: Dialect;
  readonly health: () => Promise<HealthResult>;
}

/** `parts` receives what must be stopped. */
async function claimMetadata({ settings, log }: MetadataDeps, parts: AsyncDisposableStack): Promise<ClaimedMetadata> {
  const { db, dialect } = await openMetadata(settings, log, connectionsPerThread(settings));
  parts.defer(() => db.destroy());
  const sharing = isCluster(settings) ? 'together' : 'alone';
  const claim = dialect === 'postgres' ? await claimDatabase(db, { log, sharing }) : undefined;
  parts.defer(() => claim?.release());
  return { db, dialect, health: () => metadataHealth(db, claim) };
}

/** Migrates the tables and creates what every installation has. */
async function prepareMetadata(
  { settings, clock, log }: MetadataDeps,
  { db, dialect }: ClaimedMetadata,
): Promise<Bootstrapped> {
  if (dialect === 'postgres') await checkMoves(db);
  const schema = await migrate(db, dialect);
  if (schema > schemaVersion)
    log.info({ schema, own: schemaVersion }, 'a newer version has expanded the metadata schema');
  // Here, so that a process with another number of slots ends with a message before it does any work.
  if (isCluster(settings)) await createSlots(db, settings.slots);
  const now = clock.now();
  const first = await bootstrap(db, {
    now,
    personalApiKey: settings.bootstrapPersonalApiKey || undefined,
    projectApiKey: settings.bootstrapProjectApiKey || undefined,
  });
  await syncPlugins(db, builtInPlugins, now);
  await deleteExpiredSessions(db, now);
  return first;
}

async function checkMoves(db: Metadata): Promise<void> {
  if ((await unfinishedMove(db)) !== undefined) throw new UnfinishedMoveError();
  const problem = await databaseMoveProblem(db);
  if (problem !== undefined) throw new ConfigError([problem]);
}

async function metadataHealth(db: Metadata, claim: DatabaseClaim | undefined): Promise<HealthResult> {
  if (claim?.held() === false) {
    const detail = 'The connection that keeps other services out of this database is lost and is being restored.';
    return { ok: false, detail };
  }
  const rows = await db.selectFrom('config_revisions').select('id').execute();
  return { ok: rows.length > 0 };
}

type EventLogDeps = Pick<ServiceDeps, 'settings' | 'log' | 'metrics' | 'db'>;

interface StartedEventLog {
  readonly eventLog: EventLogWriter;
  readonly ages: BacklogAges;
  /** Seconds since its server last answered; 0 if it answers or there is no server. */
  readonly silentSeconds: () => number;
  /** For the threads that read. */
  readonly shared: SharedStores['eventLog'];
}

/** Processes of a cluster start in any order, including Kafka and PostgreSQL. */
const waitForLogMs = 60_000;
const tryEveryMs = 1000;

/** Opens the event log, in files or shared with other processes, and publishes its backlog as metrics. `parts` receives what must be stopped. */
async function startEventLog(deps: EventLogDeps, parts: AsyncDisposableStack): Promise<StartedEventLog> {
  const started = isCluster(deps.settings) ? await startSharedLog(deps, parts) : await startFileLog(deps, parts);
  const { eventLog, ages } = started;
  deps.metrics.beforeText(() => {
    for (const lane of lanes) {
      const { events, bytes } = eventLog.backlog(lane);
      deps.metrics.set('millrace_buffer_events', { lane }, events);
      deps.metrics.set('millrace_buffer_bytes', { lane }, bytes);
      deps.metrics.set('millrace_buffer_oldest_seconds', { lane }, ages.seconds(lane));
    }
  });
  return started;
}

async function startFileLog(
  { settings, log, db }: EventLogDeps,
  parts: AsyncDisposableStack,
): Promise<StartedEventLog> {
  const [live, historical] = await Promise.all([
    readCursor(db, { slot: 0, lane: 'live' }),
    readCursor(db, { slot: 0, lane: 'historical' }),
  ]);
  const eventLog = await openFileLog(settings, {
    committed: { live: live.seq, historical: historical.seq },
    onProblem: (sentence) => log.error({ component: 'event_log' }, sentence),
  });
  parts.defer(() => eventLog.close());
  const ages = await startBacklogAges(eventLog.shared, parts);
  return { eventLog, ages, silentSeconds: () => 0, shared: eventLog.shared };
}

async function startSharedLog(deps: EventLogDeps, parts: AsyncDisposableStack): Promise<StartedEventLog> {
  const eventLog = await openWhenThere(deps);
  parts.defer(() => eventLog.close());
  deps.metrics.beforeText(() => {
    for (const lane of lanes) {
      for (const [slot, records] of eventLog.backlogBySlot(lane)) {
        deps.metrics.set('millrace_log_slot_records', { lane, slot: String(slot) }, records);
      }
    }
  });
  const ages: BacklogAges = { seconds: (lane) => eventLog.oldestSeconds(lane) };
  return { eventLog, ages, silentSeconds: () => eventLog.silentSeconds(), shared: undefined };
}

async function openWhenThere(deps: EventLogDeps): Promise<SharedLogWriter> {
  const until = performance.now() + waitForLogMs;
  for (;;) {
    try {
      return await openSharedLog(deps.settings, sharedWriterDeps(deps));
    } catch (error) {
      if (!(error instanceof LogUnavailableError) || performance.now() > until) throw error;
      deps.log.warn({ component: 'event_log', err: error }, 'waiting for the event log');
      await sleep(tryEveryMs);
    }
  }
}

/** About 400 MiB per minute: reading a store of 100 GiB once takes four hours. */
const turnBytes = 64 * 1024 * 1024;
const everyMs = 10_000;
const noteMs = 1_000;

/**
 * Compares the parts of the embedded store with those at the last stop, and checks their content in turns. Returns `undefined` if a
 * server has the events.
 */
async function watchParts(
  { settings, store, log }: Pick<ServiceDeps, 'settings' | 'store' | 'log'>,
  parts: AsyncDisposableStack,
): Promise<(() => StoreHealth) | undefined> {
  if (settings.clickhouseUrl !== '') return undefined;
  const note = createStoredPartsNote(settings.dataDir, store);
  const missing = await note.compare();
  if (missing !== '') log.error({ detail: missing }, 'stored events are missing');
  // Everything that writes events starts later and stops earlier.
  parts.defer(() => writeNote(note, log));
  const checks = createPartChecks(store, { turnBytes });
  let last = '';
  let isAtWork = false;
  const turn = async (): Promise<void> => {
    if (isAtWork) return;
    isAtWork = true;
    try {
      await checks.turn();
      const { detail } = checks.health();
      if (detail !== '' && detail !== last) log.error({ detail }, 'stored events are damaged');
      last = detail;
    } catch (error) {
      // The health of the store reports it; the parts wait for the next turn.
      if (!(error instanceof StoreUnavailableError)) log.error({ error }, 'failed to check stored parts');
    } finally {
      isAtWork = false;
    }
  };
  const timer = setInterval(() => void turn(), everyMs);
  parts.defer(() => clearInterval(timer));
  return () => {
    const { detail } = checks.health();
    const details = [missing, detail].filter((each) => each !== '').join(' ');
    return { ok: details === '', detail: details };
  };
}

/** Does not wait for a store that hangs, which would delay the stop; without a note the next start compares nothing. */
async function writeNote(note: StoredPartsNote, log: ServiceDeps['log']): Promise<void> {
  const late = new AbortController();
  try {
    await Promise.race([note.write(), setTimeout(noteMs, undefined, { signal: late.signal })]);
  } catch (error) {
    log.warn({ err: error }, 'failed to note the parts of the event store');
  } finally {
    late.abort();
  }
}

/** A note of the parts at the last stop, and of those that were already missing. */
interface StoredPartsNote {
  /** Compares the present parts with the note, which keeps the missing ones. Returns a sentence for the operator, or ''. */
  compare(): Promise<string>;
  /** Call it when no more events are written. A killed service leaves no note. */
  write(): Promise<void>;
}

function createStoredPartsNote(dataDir: string, store: StoreReader): StoredPartsNote {
  const file = join(dataDir, 'stored-parts.json');
  let missing: readonly NotedPart[] = [];
  const save = (parts: readonly NotedPart[]): void => {
    writeFileSync(`${file}.new`, JSON.stringify(parts));
    renameSync(`${file}.new`, file);
  };
  return {
    async compare() {
      if (!existsSync(file)) return '';
      missing = await missingParts(store, JSON.parse(readFileSync(file, 'utf8')) as NotedPart[]);
      save(missing);
      return missingText(missing, file);
    },
    async write() {
      // Removing the file accepts the loss.
      const stillMissing = existsSync(file) ? missing : [];
      save([...stillMissing, ...(await notedParts(store))]);
    },
  };
}
