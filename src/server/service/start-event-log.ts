/** The event log, in files or on Kafka, open for writing and watched. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lanes, LogUnavailableError, type EventLogWriter } from '../../log/eventlog.ts';
import { readCursor } from '../../pipeline/cursors.ts';
import { startBacklogAges, type BacklogAges } from './backlog-ages.ts';
import { kafkaWriterDeps } from './kafka-log-deps.ts';
import { isCluster } from './roles.ts';
import type { ServiceDeps } from './service-deps.ts';
import { openFileLog, openKafkaLog, type KafkaLogWriter, type SharedStores } from './stores.ts';

export type EventLogDeps = Pick<ServiceDeps, 'settings' | 'log' | 'metrics' | 'db'>;

export interface StartedEventLog {
  readonly eventLog: EventLogWriter;
  readonly ages: BacklogAges;
  /** For how long its server has not answered, s; 0 where it answers, or there is none. */
  readonly silentSeconds: () => number;
  /** For the threads that read. */
  readonly shared: SharedStores['eventLog'];
}

/** A cluster's processes start in any order, Kafka among them. */
const waitForKafkaMs = 60_000;
const tryEveryMs = 1000;

/** `parts` takes what has to be stopped. */
export async function startEventLog(deps: EventLogDeps, parts: AsyncDisposableStack): Promise<StartedEventLog> {
  const started = isCluster(deps.settings) ? await startKafkaLog(deps, parts) : await startFileLog(deps, parts);
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

async function startKafkaLog(deps: EventLogDeps, parts: AsyncDisposableStack): Promise<StartedEventLog> {
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

async function openWhenThere(deps: EventLogDeps): Promise<KafkaLogWriter> {
  const until = performance.now() + waitForKafkaMs;
  for (;;) {
    try {
      return await openKafkaLog(deps.settings, kafkaWriterDeps(deps));
    } catch (error) {
      if (!(error instanceof LogUnavailableError) || performance.now() > until) throw error;
      deps.log.warn({ component: 'event_log', err: error }, 'waiting for Kafka');
      await sleep(tryEveryMs);
    }
  }
}
