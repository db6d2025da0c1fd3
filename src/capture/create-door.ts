import type { Settings } from '../config/settings.ts';
import { LogUnavailableError, type EventLogWriter, type RecordHeader } from '../eventlog/eventlog.ts';
import { slotOf } from '../eventlog/slot-of.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { AcceptedBatch, Door } from '../batch/door.ts';
import { unavailable } from './project-key.ts';

export interface DoorDeps {
  readonly log: EventLogWriter;
  readonly settings: Pick<Settings, 'backlogEventsMax' | 'backlogBytesMax'>;
  readonly metrics: Metrics;
}

const retryAfterSeconds = 5;

/** The one door into the event log. It refuses (503) while a lane holds more than it may, before anything is written. */
export function createDoor({ log, settings, metrics }: DoorDeps): Door {
  const component = 'capture';
  return {
    accept: async (batch) => {
      const { lane } = batch;
      // Before appending: a log may move the bytes to its own thread, which leaves an empty array here.
      const bytes = batch.body.byteLength;
      const waiting = log.backlog(lane);
      if (waiting.events >= settings.backlogEventsMax || waiting.bytes >= settings.backlogBytesMax) {
        metrics.count('millrace_component_errors_total', { component, error_type: 'backlog_full' });
        throw unavailable(
          `The ${lane} lane is full: ${waiting.events} events wait to be stored; try again later.`,
          retryAfterSeconds,
        );
      }
      try {
        await log.append(lane, { header: headerOf(batch), body: batch.body }, slotOf(batch.projectId, log.slots));
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

function headerOf(batch: AcceptedBatch): RecordHeader {
  const { projectId, receivedAt, encoding, events, requestId, sentAt, ip } = batch;
  return {
    projectId,
    receivedAt,
    encoding,
    events,
    requestId,
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(ip === undefined ? {} : { ip }),
  };
}
