/** `millrace move`: opens the stores of both sides, stores what waits in the log, and copies. */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import { createFailpoint } from '../../base/failpoint.ts';
import type { Settings } from '../config/settings.ts';
import { lanes, type EventLogWriter } from '../../log/eventlog.ts';
import { claimDatabase } from '../../stores/metadata/claim-database.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { checkSource, move, MoveRefusedError, type MoveReport } from '../../stores/move/move.ts';
import type { MoveProgress } from '../../stores/move/move-progress.ts';
import { readCursor } from '../../pipeline/cursors.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createPipelineAlone } from './start.ts';
import { metadataFile, openFileLog, openEventStore, openMetadata, startEmbeddedStore } from './stores.ts';

export interface MoveDataDirDeps {
  readonly log: Log;
  readonly progress: MoveProgress;
}

/** A month of a project may take longer than an interactive query. */
const queryTimeoutMs = 600_000;
const pollMs = 250;

/** @throws MoveRefusedError, LogOpenError while a service uses the directory, errors of `move` and of the stores */
export async function moveDataDir(
  settings: Settings,
  target: Settings,
  { log, progress }: MoveDataDirDeps,
): Promise<MoveReport> {
  checkSettings(settings, target);
  await using parts = new AsyncDisposableStack();
  const { db } = await openMetadata(settings, log);
  parts.defer(() => db.destroy());
  await checkSource(db);
  // Open until the end, so that no other process can use the directory.
  const eventLog = await openDrained(settings, db, { log, progress });
  parts.defer(() => eventLog.close());
  const to = await openMetadata(target, log);
  parts.defer(() => to.db.destroy());
  const claim = await claimDatabase(to.db, { log, sharing: 'alone' });
  parts.defer(() => claim.release());
  const toStore = await openEventStore({ ...target, queryTimeoutMs }, undefined, { migrates: true, log });
  parts.defer(() => toStore.close());
  const onRestart = (reason: string): void => progress.note(`the embedded event store was restarted: ${reason}`);
  const embedded = await startEmbeddedStore({ ...settings, queryTimeoutMs }, { log, onRestart });
  parts.defer(() => embedded.close());
  const fromStore = await openEventStore(settings, embedded);
  parts.defer(() => fromStore.close());
  return await move({
    from: { dataDir: settings.dataDir, db, store: fromStore },
    to: { db: to.db, store: toStore, name: nameOf(target) },
    clock: systemClock,
    failpoint: createFailpoint(settings.failAt, settings.allowFailpoints),
    progress,
  });
}

function checkSettings({ dataDir, databaseUrl, clickhouseUrl, kafkaBrokers }: Settings, target: Settings): void {
  if (databaseUrl !== '' || clickhouseUrl !== '' || kafkaBrokers !== '') {
    throw new MoveRefusedError(
      'expected a data directory with everything in it, got DATABASE_URL, CLICKHOUSE_URL or KAFKA_BROKERS beside it; these are not ' +
        'moved: unset them, and name the new stores with --to',
    );
  }
  if (!existsSync(metadataFile(dataDir))) {
    throw new MoveRefusedError(
      `expected a data directory that Millrace has used, got ${dataDir}; name it with --data-dir`,
    );
  }
  const missing = [
    ...(target.databaseUrl === '' ? ['database_url (--to-database-url)'] : []),
    ...(target.clickhouseUrl === '' ? ['clickhouse_url (--to-clickhouse-url)'] : []),
  ];
  if (missing.length > 0) {
    throw new MoveRefusedError(`expected the stores to move to in --to, got no ${missing.join(' and no ')}`);
  }
}

/** Without user and password. */
function nameOf({ databaseUrl, clickhouseUrl, clickhouseCluster }: Settings): string {
  const place = (url: string): string => `${new URL(url).host}${new URL(url).pathname}`;
  const cluster = clickhouseCluster === '' ? '' : `, cluster ${clickhouseCluster}`;
  return `PostgreSQL ${place(databaseUrl)}, ClickHouse ${place(clickhouseUrl)}${cluster}`;
}

/** Opens the log after the pipeline has stored everything that was waiting in it. */
async function openDrained(settings: Settings, db: Metadata, deps: MoveDataDirDeps): Promise<EventLogWriter> {
  for (;;) {
    const eventLog = await openLog(settings, db, deps.log);
    const waiting = lanes.map((lane) => eventLog.backlog(lane).events).reduce((sum, events) => sum + events, 0);
    const begun = await Promise.all(
      lanes.map(async (lane) => (await readCursor(db, { slot: 0, lane })).pending.length),
    );
    if (waiting === 0 && begun.every((ranges) => ranges === 0)) return eventLog;
    await eventLog.close();
    deps.progress.note(`${waiting} events are waiting in the log and are stored first`);
    await drain(settings, deps.log);
  }
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
    const got = `got ${settings.dataDir}, which one does; stop it (SIGTERM) and run this again`;
    throw new MoveRefusedError(`expected a data directory that no service uses, ${got}`, { cause: error });
  }
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
