import type { BacklogPoller, BacklogSource, RecordMean } from '../backlog-poller.ts';
import { lanes, type Lane } from '../eventlog.ts';
import type { SharedLogWriter, SharedWriterDeps, SharedWriterOptions } from '../shared-log.ts';
import { openSharedWriter, type LogBackend } from '../shared-writer.ts';
import { AppendQueue } from './append-queue.ts';
import { connect, type Connected, type PostgresLogOptions } from './connect.ts';
import { prepareTables } from './tables.ts';

const appendTimeoutMsDefault = 15_000;
const sampleRecords = 100;

/**
 * Opens the accepting side of the log in PostgreSQL. Creates missing tables. Rejects with LogMisconfiguredError if an operator has to
 * change something, with LogUnavailableError while the server is unavailable.
 */
export async function openPostgresLogWriter(
  options: PostgresLogOptions & SharedWriterOptions,
  deps: SharedWriterDeps,
): Promise<SharedLogWriter> {
  const timeoutMs = options.appendTimeoutMs ?? appendTimeoutMsDefault;
  const connected = connect(options, timeoutMs);
  try {
    await prepareTables(connected, options, (sentence) => deps.onProblem?.(sentence));
  } catch (error) {
    await connected.close();
    throw error;
  }
  return await openSharedWriter(options, deps, (stored) =>
    postgresBackend(connected, { ...options, appendTimeoutMs: timeoutMs }, deps, stored),
  );
}

function postgresBackend(
  connected: Connected,
  { slots, bodyBytesMax, appendTimeoutMs: timeoutMs }: PostgresLogOptions & { readonly appendTimeoutMs: number },
  deps: SharedWriterDeps,
  stored: BacklogPoller['appended'],
): LogBackend {
  const queuesOf = (lane: Lane): readonly AppendQueue[] =>
    Array.from({ length: slots }, (_, slot) => {
      return new AppendQueue({
        connected,
        lane,
        slot,
        timeoutMs,
        stored: (size) => stored(lane, slot, size),
        answered: (seconds) => deps.onAnswer?.(lane, seconds),
        failed: (error) => deps.onFailure?.('append', error),
      });
    });
  const queues = { live: queuesOf('live'), historical: queuesOf('historical') };
  return {
    ...postgresBacklog(connected),
    name: 'PostgreSQL',
    bodyBytesMax,
    // The caller has checked the slot.
    append: (lane, record, slot) => (queues[lane][slot] as AppendQueue).append(record),
    end: async (lane, slot) => (await readEnds(connected)).get(`${lane}/${slot}`) ?? 0,
    refresh: async () => undefined,
    lostRecords: (lane, slot, end, cursor) =>
      `slot ${slot} of the event log in PostgreSQL (${lane}) ends at ${end}, but ${cursor} records of it are processed: the server has ` +
      'lost records, or the tables event_log… were created again; it accepts nothing. Restore the database as a whole',
    drained: async () => {
      await Promise.all(lanes.flatMap((lane) => queues[lane].map((queue) => queue.drained())));
    },
    close: () => connected.close(),
  };
}

/** Returns the last seqs, by `lane/slot`. */
export async function readEnds(connected: Connected): Promise<ReadonlyMap<string, number>> {
  const rows = await connected.ask<{ readonly slot: number; readonly lane: string; readonly last_seq: number }>(
    'SELECT slot, lane, last_seq FROM event_log_ends',
  );
  return new Map(rows.map(({ slot, lane, last_seq: end }) => [`${lane}/${slot}`, end]));
}

function postgresBacklog(connected: Connected): BacklogSource {
  return {
    ends: async () => {
      const ends = { live: new Map<number, number>(), historical: new Map<number, number>() };
      for (const [place, end] of await readEnds(connected)) {
        const [lane, slot] = place.split('/') as [Lane, string];
        ends[lane].set(Number(slot), end);
      }
      return ends;
    },
    sample: async (lane, slot, from) => {
      const [mean] = await connected.ask<RecordMean>(sampleSql, [slot, lane, from]);
      return mean;
    },
  };
}

/** Without a row if there are no records. */
const sampleSql = `SELECT avg(events)::float8 AS events, avg(octet_length(body))::float8 AS bytes FROM (
  SELECT events, body FROM event_log_records
  WHERE slot = $1 AND lane = $2 AND seq > $3 ORDER BY seq LIMIT ${sampleRecords}
) AS first HAVING count(*) > 0`;
