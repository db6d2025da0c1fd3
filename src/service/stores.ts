/**
 * Every adapter is opened here and nowhere else: by the service, by its threads, and by commands that work on a store
 * themselves. One is loaded when the settings name it: some take longer to load than most commands take to run.
 */
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { EventLogReader } from '../eventlog/eventlog.ts';
import type { SharedPositions } from '../eventlog/sqlite/shared-positions.ts';
import type { SqliteLogOptions, SqliteLogWriter } from '../eventlog/sqlite/writer.ts';
import type { ChdbSupervisor } from '../eventstore/chdb/supervisor.ts';
import type { EventStore } from '../eventstore/eventstore.ts';
import type { Staging } from '../imports/staging.ts';
import type { StagingBucketSettings } from '../imports/staging/open-staging.ts';
import type { Metadata } from '../metadata/database.ts';
import type { Dialect } from '../metadata/migrations/migration.ts';
import type { Log, WarnLog } from '../telemetry/log.ts';

export { takeFileLock } from '../metadata/sqlite-lock.ts';

/** What a thread needs to reach the stores of its process; copied to it. */
export interface SharedStores {
  /** How far the lanes of the event log have come. */
  readonly eventLog: SharedArrayBuffer;
  /** Undefined: events lie on a ClickHouse server. */
  readonly embedded: EmbeddedStore | undefined;
}

export interface EmbeddedStore {
  readonly socketPath: string;
  readonly spoolDir: string;
}

export type EventLog = SqliteLogWriter;

/** File of the embedded metadata store in the data directory. */
export function metadataFile(dataDir: string): string {
  return join(dataDir, 'metadata.sqlite');
}

/** PostgreSQL, or SQLite in the data directory, which must exist. */
export async function openMetadata(
  { dataDir, databaseUrl }: Pick<Settings, 'dataDir' | 'databaseUrl'>,
  log: WarnLog,
): Promise<{ readonly db: Metadata; readonly dialect: Dialect }> {
  if (databaseUrl === '') {
    const { openSqlite } = await import('../metadata/sqlite.ts');
    return { db: openSqlite(metadataFile(dataDir)), dialect: 'sqlite' };
  }
  const { openPostgres } = await import('../metadata/postgres.ts');
  const onConnectionLost = (err: Error): void => log.warn({ err }, 'a connection to PostgreSQL was lost');
  return { db: openPostgres(databaseUrl, { onConnectionLost }), dialect: 'postgres' };
}

/** The engine in the data directory, in a process of its own. Once for the whole service, however many connect to it. */
export async function startEmbeddedStore(
  settings: Settings,
  deps: { readonly log: Log; readonly onRestart: (reason: string) => void },
): Promise<EmbeddedStore & Pick<ChdbSupervisor, 'close'>> {
  const { startChdb } = await import('../eventstore/chdb/supervisor.ts');
  const { dataDir, storeMemoryBytesMax: memoryBytesMax, queryTimeoutMs } = settings;
  const spoolDir = join(dataDir, 'spool');
  const engine = await startChdb({ ...deps, dir: join(dataDir, 'events'), spoolDir, memoryBytesMax, queryTimeoutMs });
  return { socketPath: engine.socketPath, spoolDir, close: () => engine.close() };
}

/** A connection to the embedded engine, or to the ClickHouse server. */
export async function openEventStore(
  { clickhouseUrl, queryTimeoutMs }: Settings,
  embedded: EmbeddedStore | undefined,
): Promise<EventStore> {
  if (embedded !== undefined) {
    const { connectChdb } = await import('../eventstore/chdb/connect-chdb.ts');
    return connectChdb(embedded.socketPath, embedded.spoolDir);
  }
  const { connectClickhouse } = await import('../eventstore/clickhouse.ts');
  return await connectClickhouse(clickhouseUrl, { queryTimeoutMs });
}

/** For writing; one process at a time. */
export async function openEventLog(settings: Settings, options: SqliteLogOptions): Promise<EventLog> {
  const { openSqliteLogWriter } = await import('../eventlog/sqlite/writer.ts');
  return await openSqliteLogWriter(eventLogDir(settings), options);
}

/** In any thread of the process that has opened it for writing. */
export async function openEventLogReader(
  settings: Settings,
  shared: SharedStores['eventLog'],
): Promise<EventLogReader> {
  const { openSqliteLogReader } = await import('../eventlog/sqlite/reader.ts');
  return openSqliteLogReader(eventLogDir(settings), shared);
}

export async function eventLogPositions(shared: SharedStores['eventLog']): Promise<SharedPositions> {
  const { sharedPositions } = await import('../eventlog/sqlite/shared-positions.ts');
  return sharedPositions(shared);
}

/** Where imports keep their files. Errors: the place is none, or cannot be made. */
export async function openStaging(place: string, bucket: StagingBucketSettings = {}): Promise<Staging> {
  const staging = await import('../imports/staging/open-staging.ts');
  return await staging.openStaging(place, bucket);
}

function eventLogDir({ dataDir }: Settings): string {
  return join(dataDir, 'log');
}
