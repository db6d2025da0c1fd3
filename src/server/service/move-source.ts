/** The stores that `millrace move` reads: held so that no other process uses them, after what waited in their log was stored. */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Settings } from '../config/settings.ts';
import { eventLogOf, isCluster } from '../config/event-log-kind.ts';
import { lanes, LogUnavailableError, type EventLogWriter } from '../../log/eventlog.ts';
import { LogMisconfiguredError } from '../../log/shared-log.ts';
import { claimDatabase, DatabaseTakenError } from '../../stores/metadata/claim-database.ts';
import type { Dialect, Metadata } from '../../stores/metadata/database.ts';
import { checkSource, MoveRefusedError, type MoveDeps } from '../../stores/move/move.ts';
import { moveStateInDatabase, moveStateInFile } from '../../stores/move/move-state.ts';
import type { MoveProgress } from '../../stores/move/move-progress.ts';
import { readCursor } from '../../pipeline/cursors.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { sharedReaderDeps, sharedWriterDeps } from './shared-log-deps.ts';
import { createPipelineAlone } from './start.ts';
import {
  inspectClickhouse,
  metadataFile,
  openEventLogReaders,
  openEventStore,
  openFileLog,
  openMetadata,
  openSharedLog,
  startEmbeddedStore,
} from './stores.ts';

export interface MoveSourceDeps {
  readonly log: Log;
  readonly progress: MoveProgress;
}

interface OpenedMetadata {
  readonly db: Metadata;
  readonly dialect: Dialect;
}

const pollMs = 250;
/** Less than the client waits for a command. */
const caughtUpSeconds = 240;

/** @throws MoveRefusedError while a process uses the stores, errors of the stores. `parts` receives what must be closed. */
export async function openMoveSource(
  settings: Settings,
  deps: MoveSourceDeps,
  parts: AsyncDisposableStack,
): Promise<MoveDeps['from']> {
  checkPlace(settings);
  const metadata = await openMetadata(settings, deps.log);
  const { db, dialect } = metadata;
  parts.defer(() => db.destroy());
  await checkSource(db);
  if (isCluster(settings)) await checkLogOf(settings, db, deps.log);
  // Until the end, so that no other process can use the stores.
  const held = parts.use(await holdDrained(settings, metadata, deps));
  const store = await openSourceStore(settings, deps, parts);
  return {
    db,
    store,
    state: dialect === 'postgres' ? moveStateInDatabase(db) : moveStateInFile(settings.dataDir),
    checkUnused: async () => {
      const events = await held.waiting();
      if (events === 0) return;
      throw new MoveRefusedError(
        `expected an event log that accepts nothing, got one with about ${events} new events: a process that was not stopped ` +
          'has accepted them; stop it, empty the new stores and move again',
      );
    },
  };
}

function checkPlace({ dataDir, databaseUrl, clickhouseUrl, kafkaBrokers }: Settings): void {
  const hasFile = existsSync(metadataFile(dataDir));
  if (databaseUrl === '' && clickhouseUrl === '' && kafkaBrokers === '') {
    if (hasFile) return;
    throw new MoveRefusedError(
      `expected a data directory that Millrace has used, got ${dataDir}; name it with --data-dir. To move a cluster, run this ` +
        'with the environment of one of its processes',
    );
  }
  if (hasFile) {
    throw new MoveRefusedError(
      `expected a data directory with everything in it, or the stores of a cluster, got ${dataDir} and DATABASE_URL, ` +
        'CLICKHOUSE_URL or KAFKA_BROKERS beside it: unset them to move the directory, or name another --data-dir to move the cluster',
    );
  }
  if (databaseUrl === '' || clickhouseUrl === '') {
    const missing = databaseUrl === '' ? 'DATABASE_URL' : 'CLICKHOUSE_URL';
    throw new MoveRefusedError(
      `expected both DATABASE_URL and CLICKHOUSE_URL of the stores to move, got no ${missing}`,
    );
  }
}

async function openSourceStore(settings: Settings, { log, progress }: MoveSourceDeps, parts: AsyncDisposableStack) {
  if (settings.clickhouseUrl !== '') await waitForReplicas(settings);
  const onRestart = (reason: string): void => progress.note(`the embedded event store was restarted: ${reason}`);
  const embedded = settings.clickhouseUrl === '' ? await startEmbeddedStore(settings, { log, onRestart }) : undefined;
  parts.defer(() => embedded?.close());
  const store = await openEventStore(settings, embedded);
  parts.defer(() => store.close());
  return store;
}

/** Any replica may be read, so each must have all rows. @throws MoveRefusedError if one does not answer */
async function waitForReplicas(settings: Settings): Promise<void> {
  if (settings.clickhouseCluster === '') return;
  await using servers = await inspectClickhouse(settings);
  for (const server of (await servers.shards()).flat()) {
    try {
      await server.command('SYSTEM SYNC REPLICA events_local LIGHTWEIGHT', { receive_timeout: caughtUpSeconds });
    } catch (cause) {
      if (!(cause instanceof Error)) throw cause;
      throw new MoveRefusedError(
        `expected every server of the old ClickHouse cluster to have all events, got from ${server.host}: ${cause.message}; ` +
          'start the server, or remove it from the cluster, and run this again',
        { cause },
      );
    }
  }
}

/** @throws MoveRefusedError unless the settings name the log that the cursors of the database refer to */
async function checkLogOf(settings: Settings, db: Metadata, log: Log): Promise<void> {
  const slots = await db.selectFrom('slots').select(['slot', 'log']).execute();
  if (slots.length !== settings.slots) {
    throw new MoveRefusedError(
      `expected the settings of the cluster to move, got MILLRACE_SLOTS=${settings.slots} and a database with ${slots.length} ` +
        'slots; run this with the environment of one of its processes',
    );
  }
  // Readers create nothing, unlike writers.
  const readers = await openEventLogReaders(
    settings,
    undefined,
    sharedReaderDeps({ settings, db, metrics: createMetrics(), log }),
  ).catch((cause: unknown) => {
    if (!(cause instanceof LogMisconfiguredError || cause instanceof LogUnavailableError)) throw cause;
    const got = `expected the event log of the cluster to move, got: ${cause.message}`;
    throw new MoveRefusedError(`${got}; run this with the environment of one of its processes`, { cause });
  });
  try {
    for (const { slot, log: known } of slots) {
      const reader = readers.reader(slot);
      const { id } = reader;
      await reader.close();
      if (known === null || known === id) continue;
      throw new MoveRefusedError(
        `expected the event log that the database belongs to, got another one (slot ${slot}); correct ` +
          `${eventLogOf(settings) === 'kafka' ? 'KAFKA_BROKERS and MILLRACE_KAFKA_TOPIC_PREFIX' : 'MILLRACE_EVENT_LOG'}`,
      );
    }
  } finally {
    await readers.close();
  }
}

interface HeldSource extends AsyncDisposable {
  /** Returns about how many events the log has that are not stored; 0 is exact. */
  waiting(): Promise<number>;
}

/** Holds the stores after the pipeline has stored everything that was waiting in their log. */
async function holdDrained(settings: Settings, metadata: OpenedMetadata, deps: MoveSourceDeps): Promise<HeldSource> {
  for (;;) {
    const held = await holdSource(settings, metadata, deps.log);
    const events = await held.waiting().catch(async (error: unknown) => {
      await held[Symbol.asyncDispose]();
      throw error;
    });
    if (events === 0) return held;
    await held[Symbol.asyncDispose]();
    deps.progress.note(`${events} events are waiting in the log and are stored first`);
    await drain(settings, deps.log);
  }
}

async function holdSource(settings: Settings, { db, dialect }: OpenedMetadata, log: Log): Promise<HeldSource> {
  await using parts = new AsyncDisposableStack();
  if (dialect === 'postgres') {
    const claim = await claimDatabase(db, { log, sharing: 'alone' }).catch((error: unknown) => {
      throw error instanceof DatabaseTakenError ? inUse('stores', 'DATABASE_URL', error) : error;
    });
    parts.defer(() => claim.release());
  }
  const fileLog = isCluster(settings) ? undefined : await openLog(settings, db, log);
  if (fileLog !== undefined) parts.defer(() => fileLog.close());
  const owned = parts.move();
  return {
    waiting: () => (fileLog ? waitingIn(fileLog, db) : waitingInShared(settings, db, log)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function waitingInShared(settings: Settings, db: Metadata, log: Log): Promise<number> {
  const eventLog = await openSharedLog(settings, sharedWriterDeps({ db, log, metrics: createMetrics() }));
  try {
    return await waitingIn(eventLog, db);
  } finally {
    await eventLog.close();
  }
}

/** A range that was begun counts as an event: the rows that it stored may lack its other effects. */
async function waitingIn(eventLog: EventLogWriter, db: Metadata): Promise<number> {
  const waiting = lanes
    .map((lane) => eventLog.backlog(lane))
    .reduce((sum, { records, events }) => {
      return sum + Math.max(records, events);
    }, 0);
  const places = lanes.flatMap((lane) => Array.from({ length: eventLog.slots }, (_, slot) => ({ slot, lane })));
  let begun = 0;
  for (const place of places) begun += (await readCursor(db, place)).pending.length;
  return waiting + begun;
}

async function openLog(settings: Settings, db: Metadata, log: Log): Promise<EventLogWriter> {
  const [live, historical] = await Promise.all(lanes.map((lane) => readCursor(db, { slot: 0, lane })));
  try {
    return await openFileLog(settings, {
      committed: { live: live?.seq ?? 0, historical: historical?.seq ?? 0 },
      onProblem: (sentence) => log.error({ component: 'event_log' }, sentence),
    });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'in_use')) throw error;
    throw inUse('a data directory', settings.dataDir, error);
  }
}

function inUse(what: string, where: string, cause: Error): MoveRefusedError {
  const advice = 'stop it (SIGTERM) and run this again';
  return new MoveRefusedError(`expected ${what} that no service uses, got ${where}, which one does; ${advice}`, {
    cause,
  });
}

/** Runs only the pipeline, without listening, until nothing is waiting. */
async function drain(settings: Settings, log: Log): Promise<void> {
  const metrics = createMetrics();
  const service = createPipelineAlone({ ...settings, host: '127.0.0.1', port: 0 }, { log, metrics });
  await service.start();
  try {
    for (;;) {
      await delay(pollMs);
      const text = await metrics.text();
      const waiting = [...text.matchAll(/^millrace_buffer_events\{[^}]*\} (\d+)/gm)].map(([, events]) =>
        Number(events),
      );
      if (waiting.length > 0 && waiting.every((events) => events === 0)) return;
    }
  } finally {
    await service.close();
  }
}
