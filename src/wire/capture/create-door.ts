import type { Settings } from '../../server/config/settings.ts';
import { LogUnavailableError, type EventLogWriter, type RecordHeader } from '../../log/eventlog.ts';
import { slotOfPart } from '../../log/slot-of.ts';
import type { Metrics } from '../../server/telemetry/metrics.ts';
import type { AcceptedBatch, Door } from '../batch/door.ts';
import type { ScanSender } from '../batch/scan-relay.ts';
import { unavailable } from './project-key.ts';
import { splitBatch, type BatchPart, type SplitLimits } from './split-batch.ts';
import type { Spreads } from './spreads.ts';

export interface DoorDeps {
  readonly log: EventLogWriter;
  readonly settings: Pick<Settings, 'backlogEventsMax' | 'backlogBytesMax'> & SplitLimits;
  readonly metrics: Metrics;
  /** Absent: no project is spread, as in a log of one slot. */
  readonly spreads?: Spreads;
  /** Where the pipeline that reads the log is in this process, too. */
  readonly scans?: Pick<ScanSender, 'send'>;
}

const retryAfterSeconds = 5;

/** A project may have so many times of what is still free waiting: alone four fifths of a lane, the next one four fifths of the rest. */
const timesFree = 4;

/**
 * The one door into the event log. It refuses (503) while a lane holds more than it may, or more of this project than leaves room for
 * others, before anything is written.
 */
export function createDoor({ log, settings, metrics, spreads, scans }: DoorDeps): Door {
  const component = 'capture';
  const append = async ({ part, batch }: BatchPart): Promise<number> => {
    const slot = slotOfPart(batch.projectId, part, log.slots);
    return log.append(batch.lane, { header: headerOf(batch, part), body: batch.body }, slot);
  };
  /**
   * All parts, or an error: then some of them may be in the log, as may be a batch whose answer got lost. The sender sends all of it
   * again, and what is there is recognised by the ids of its events.
   */
  const appendAll = async (parts: readonly BatchPart[]): Promise<void> => {
    const ends = await Promise.allSettled(parts.map(append));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  return {
    accept: async (batch) => {
      const { lane } = batch;
      // Before appending: a log may move the bytes to its own thread, which leaves an empty array here.
      const bytes = batch.body.byteLength;
      const refusal = refusalOf(log, settings, batch);
      if (refusal !== undefined) {
        metrics.count('millrace_component_errors_total', { component, error_type: 'backlog_full' });
        throw unavailable(refusal, retryAfterSeconds);
      }
      const spread = log.slots === 1 ? 1 : await (spreads?.of(batch.projectId) ?? 1);
      try {
        if (spread === 1) {
          const seq = await append({ part: 0, batch });
          if (batch.scan !== undefined) scans?.send(lane, seq, batch.scan);
        } else await appendAll(await splitBatch(batch, Math.min(spread, log.slots), settings));
      } catch (cause) {
        if (!(cause instanceof LogUnavailableError)) throw cause;
        metrics.count('millrace_component_errors_total', { component, error_type: 'log_unavailable' });
        throw unavailable('The events could not be stored durably; try again.', retryAfterSeconds, cause);
      }
      metrics.count('millrace_component_received_events_total', { component, lane }, batch.events);
      metrics.count('millrace_component_received_bytes_total', { component, lane }, bytes);
    },
  };
}

/** Undefined: there is room. */
function refusalOf(
  log: Pick<EventLogWriter, 'backlog' | 'backlogOf'>,
  { backlogEventsMax, backlogBytesMax }: DoorDeps['settings'],
  { lane, projectId }: Pick<AcceptedBatch, 'lane' | 'projectId'>,
): string | undefined {
  const waiting = log.backlog(lane);
  const freeEvents = backlogEventsMax - waiting.events;
  const freeBytes = backlogBytesMax - waiting.bytes;
  if (freeEvents <= 0 || freeBytes <= 0) {
    return `The ${lane} lane is full: ${waiting.events} events wait to be stored; try again later.`;
  }
  const own = log.backlogOf(lane, projectId);
  if (own.events < timesFree * freeEvents && own.bytes < timesFree * freeBytes) return undefined;
  return `The project's share of the ${lane} lane is full: ${own.events} of its events wait to be stored; try again later.`;
}

function headerOf(batch: AcceptedBatch, part: number): RecordHeader {
  const { projectId, receivedAt, encoding, events, requestId, sentAt, ip, rowsStored } = batch;
  return {
    projectId,
    receivedAt,
    encoding,
    events,
    requestId,
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(ip === undefined ? {} : { ip }),
    ...(part === 0 ? {} : { part }),
    ...(rowsStored && { rowsStored }),
  };
}
