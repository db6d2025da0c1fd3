/**
 * The only place that opens adapters: for the service, its threads, and commands that work on stores directly. An adapter is only
 * loaded when the settings use it: some take longer to load than most commands run.
 */
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { EventLogReader, Lane } from '../../log/eventlog.ts';
import type { KafkaInspection } from '../../log/kafka/inspect-log.ts';
import type { SharedLogWriter, SharedReaderDeps, SharedWriterDeps } from '../../log/shared-log.ts';
import type { PostgresLogOptions } from '../../log/postgres/connect.ts';
import type { SharedPositions } from '../../log/sqlite/shared-positions.ts';
import type { LogSnapshot, WaitingRecords } from '../../log/sqlite/snapshot.ts';
import type { SqliteLogOptions, SqliteLogWriter } from '../../log/sqlite/writer.ts';
import type { ClickhouseInspection } from '../../stores/events/clickhouse/inspect-servers.ts';
import type { EventsSnapshot } from '../../stores/events/chdb/events-snapshot.ts';
import type { ChdbSupervisor } from '../../stores/events/chdb/supervisor.ts';
import type { RunStore } from '../../stores/events/run-tables.ts';
import type { Staging } from '../../imports/staging.ts';
import type { StagingBucketSettings } from '../../imports/staging/open-staging.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Dialect } from '../../stores/metadata/database.ts';
import type { Log, WarnLog } from '../telemetry/log.ts';
import { kafkaLogOptions } from './kafka-log-options.ts';
import { eventLogOf } from '../config/event-log-kind.ts';

export { takeFileLock } from '../../stores/metadata/sqlite-lock.ts';
export type { KafkaInspection, PartitionRange } from '../../log/kafka/inspect-log.ts';
export type { TopicFaultKind } from '../../log/kafka/topics.ts';
export type { ClickhouseInspection } from '../../stores/events/clickhouse/inspect-servers.ts';
export type { ClickhouseServer } from '../../stores/events/clickhouse/server.ts';
export type { KafkaLogOptions } from '../../log/kafka/cluster.ts';
export type { StagingBucketSettings };
export type { SharedLogWriter, SharedReaderDeps, SharedWriterDeps };

/** What a thread needs to reach the stores of its process; copied to it. */
export interface SharedStores {
  /** Ends of the lanes of the event log. `undefined` if several processes share it. */
  readonly eventLog: SharedArrayBuffer | undefined;
  /** `undefined` if events are on a ClickHouse server. */
  readonly embedded: EmbeddedStore | undefined;
}

export interface EmbeddedStore {
  readonly socketPath: string;
  readonly spoolDir: string;
}

/** Readers for the slots that a process holds. */
export interface EventLogReaders {
  readonly slots: number;
  /** Each slot has at most one reader, which its user closes. */
  reader(slot: number): EventLogReader;
  /** Called after its readers are closed. */
  close(): Promise<void>;
}

/** File of the embedded metadata store in the data directory. */
export function metadataFile(dataDir: string): string {
  return join(dataDir, 'metadata.sqlite');
}

/** Fewer would deadlock a thread: one keeps the claim, one a lock, one works. */
const connectionsPerThreadMin = 3;

/** For the event log in PostgreSQL; together at most those of MILLRACE_DATABASE_CONNECTIONS that the metadata does not need. */
const writerConnections = 4;
const readerConnections = 2;

/** Each thread that uses the metadata has a pool; together they hold the connections of the process. */
export function connectionsPerThread(settings: Settings): number {
  const { roles, databaseConnections } = settings;
  const threads = 1 + roles.filter((role) => role === 'pipeline' || role === 'jobs').length;
  const ofLog = eventLogOf(settings) === 'postgres' ? writerConnections + readerConnections : 0;
  return Math.max(connectionsPerThreadMin, Math.floor((databaseConnections - ofLog) / threads));
}

function postgresLogOptions(
  { databaseUrl: url, slots, captureBodyBytesMax: bodyBytesMax }: Settings,
  connectionsMax: number,
): PostgresLogOptions {
  return { url, slots, bodyBytesMax, connectionsMax };
}

/** PostgreSQL, or SQLite in the data directory, which must exist. */
export async function openMetadata(
  { dataDir, databaseUrl }: Pick<Settings, 'dataDir' | 'databaseUrl'>,
  log: WarnLog,
  connectionsMax?: number,
): Promise<{ readonly db: Metadata; readonly dialect: Dialect }> {
  if (databaseUrl === '') {
    const { openSqlite } = await import('../../stores/metadata/sqlite.ts');
    return { db: openSqlite(metadataFile(dataDir)), dialect: 'sqlite' };
  }
  const { openPostgres } = await import('../../stores/metadata/postgres.ts');
  const onConnectionLost = (err: Error): void => log.warn({ err }, 'PostgreSQL connection lost');
  return {
    db: openPostgres(databaseUrl, { onConnectionLost, ...(connectionsMax && { connectionsMax }) }),
    dialect: 'postgres',
  };
}

/** Starts the engine of the data directory in a separate process, once per service. */
export async function startEmbeddedStore(
  settings: Pick<Settings, 'dataDir' | 'storeMemoryBytesMax' | 'queryTimeoutMs'>,
  deps: { readonly log: Log; readonly onRestart: (reason: string) => void },
): Promise<EmbeddedStore & Pick<ChdbSupervisor, 'close'>> {
  const { startChdb } = await import('../../stores/events/chdb/supervisor.ts');
  const { dataDir, storeMemoryBytesMax: memoryBytesMax, queryTimeoutMs } = settings;
  const spoolDir = join(dataDir, 'spool');
  const engine = await startChdb({ ...deps, dir: join(dataDir, 'events'), spoolDir, memoryBytesMax, queryTimeoutMs });
  return { socketPath: engine.socketPath, spoolDir, close: () => engine.close() };
}

/** Connects to the embedded engine, or to the ClickHouse server or cluster. `migrates` updates the tables of servers. */
export async function openEventStore(
  settings: Settings,
  embedded: EmbeddedStore | undefined,
  { migrates = false, log }: { readonly migrates?: boolean; readonly log?: WarnLog } = {},
): Promise<RunStore> {
  if (embedded !== undefined) return await openEmbeddedStore(embedded);
  const { connectClickhouse } = await import('../../stores/events/clickhouse/connect-clickhouse.ts');
  const { clickhouseUrl, clickhouseCluster: cluster, clickhouseReplicas: replicas, queryTimeoutMs } = settings;
  return await connectClickhouse(clickhouseUrl, { queryTimeoutMs, cluster, replicas, migrates, ...(log && { log }) });
}

/** Connects to the servers of CLICKHOUSE_URL, to read what they say about themselves. */
export async function inspectClickhouse(settings: Settings): Promise<ClickhouseInspection> {
  const { inspectServers } = await import('../../stores/events/clickhouse/inspect-servers.ts');
  const { clickhouseUrl: url, clickhouseCluster: cluster, clickhouseReplicas: replicas } = settings;
  return await inspectServers(url, { cluster, replicas });
}

/** Connects to a started engine. */
export async function openEmbeddedStore({ socketPath, spoolDir }: EmbeddedStore): Promise<RunStore> {
  const { connectChdb } = await import('../../stores/events/chdb/connect-chdb.ts');
  return connectChdb(socketPath, spoolDir);
}

/** Opens the file-based log for writing, in one process at a time. */
export async function openFileLog(settings: Settings, options: SqliteLogOptions): Promise<SqliteLogWriter> {
  const { openSqliteLogWriter } = await import('../../log/sqlite/writer.ts');
  return await openSqliteLogWriter(eventLogDir(settings), options);
}

/** Opens a log that several processes share for writing. Rejects with LogUnavailableError while it is unavailable. */
export async function openSharedLog(settings: Settings, deps: SharedWriterDeps): Promise<SharedLogWriter> {
  if (eventLogOf(settings) === 'postgres') {
    const { openPostgresLogWriter } = await import('../../log/postgres/writer.ts');
    return await openPostgresLogWriter(postgresLogOptions(settings, writerConnections), deps);
  }
  const { openKafkaLogWriter } = await import('../../log/kafka/writer.ts');
  return await openKafkaLogWriter(await kafkaLogOptions(settings), deps);
}

/** Reads what the brokers say about the log, without changing anything. */
export async function inspectKafkaLog(settings: Settings): Promise<KafkaInspection> {
  const inspect = await import('../../log/kafka/inspect-log.ts');
  return await inspect.inspectKafkaLog(await kafkaLogOptions(settings));
}

/** For any thread of a process that has opened the log for writing. */
export async function openEventLogReaders(
  settings: Settings,
  shared: SharedStores['eventLog'],
  deps: SharedReaderDeps,
): Promise<EventLogReaders> {
  if (shared === undefined && eventLogOf(settings) === 'postgres') {
    const { openPostgresLogReaders } = await import('../../log/postgres/reader.ts');
    return await openPostgresLogReaders(postgresLogOptions(settings, readerConnections), deps);
  }
  if (shared === undefined) {
    const { openKafkaLogReaders } = await import('../../log/kafka/reader.ts');
    return await openKafkaLogReaders(await kafkaLogOptions(settings), deps);
  }
  const { openSqliteLogReader } = await import('../../log/sqlite/reader.ts');
  return { slots: 1, reader: () => openSqliteLogReader(eventLogDir(settings), shared), close: async () => undefined };
}

export async function eventLogPositions(shared: SharedArrayBuffer): Promise<SharedPositions> {
  const { sharedPositions } = await import('../../log/sqlite/shared-positions.ts');
  return sharedPositions(shared);
}

/** Opens the storage for files of imports. @throws an error if the location is invalid or cannot be created */
export async function openStaging(place: string, bucket: StagingBucketSettings = {}): Promise<Staging> {
  const staging = await import('../../imports/staging/open-staging.ts');
  return await staging.openStaging(place, bucket);
}

/** Checks a bucket for files of imports without writing to it. @throws an error that names the fault */
export async function probeStaging(place: string, bucket: StagingBucketSettings): Promise<void> {
  const staging = await import('../../imports/staging/open-staging.ts');
  await staging.probeBucketStaging(place, bucket);
}

/** Files of the embedded stores, for copying them. */
export interface StoreFiles {
  openLog(dataDir: string): LogSnapshot;
  /** Records beyond the cursors, in a log without a writer. */
  countWaiting(dataDir: string, committed: Readonly<Record<Lane, number>>): Readonly<Record<Lane, WaitingRecords>>;
  /** `to` is a data directory being created. */
  events(dataDir: string, to: string): EventsSnapshot;
}

export async function storeFiles(): Promise<StoreFiles> {
  const [{ openLogSnapshot, countWaiting }, { createEventsSnapshot }] = await Promise.all([
    import('../../log/sqlite/snapshot.ts'),
    import('../../stores/events/chdb/events-snapshot.ts'),
  ]);
  return {
    openLog: (dataDir) => openLogSnapshot(eventLogDir({ dataDir })),
    countWaiting: (dataDir, committed) => countWaiting(eventLogDir({ dataDir }), committed),
    events: (dataDir, to) => createEventsSnapshot(join(dataDir, 'events'), join(to, 'events')),
  };
}

function eventLogDir({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return join(dataDir, 'log');
}
