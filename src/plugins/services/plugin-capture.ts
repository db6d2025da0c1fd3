import type { Clock } from '../../base/clock.ts';
import { derivedId, newId } from '../../base/ids.ts';
import { nameCharsMax } from '../../wire/batch/limits.ts';
import type { AcceptedBatch, Ingest } from '../../wire/batch/ingest.ts';
import { hopsProperty, type CapturedEvent } from '../sandbox/sandbox.ts';

interface PluginCaptureDeps {
  /** The door that HTTP comes through. */
  readonly accept: Ingest['accept'];
  readonly clock: Clock;
  /** As MILLRACE_CAPTURE_EVENT_BYTES_MAX. Default 1 MB. */
  readonly eventBytesMax?: number;
}

/**
 * Resolves once the event is durable. An event captured again by repeated work has the same uuid and is stored once.
 * @throws Error saying what is wrong with the event, or the door's error under backpressure
 */
export type PluginCapture = (
  config: { readonly configId: number; readonly projectId: number },
  event: CapturedEvent,
) => Promise<void>;

const idCharsMax = 400;

export function createPluginCapture({ accept, clock, eventBytesMax = 1_000_000 }: PluginCaptureDeps): PluginCapture {
  return async ({ configId, projectId }, event) => {
    check(event);
    const body = Buffer.from(JSON.stringify({ batch: [eventOf(configId, event)] }));
    if (body.length > eventBytesMax) {
      throw new Error(`capture: expected an event of at most ${eventBytesMax} bytes of JSON, got: ${body.length}`);
    }
    const batch: AcceptedBatch = {
      lane: 'live',
      projectId,
      body,
      encoding: 'identity',
      events: 1,
      receivedAt: clock.now(),
      requestId: newId(),
    };
    await accept(batch);
  };
}

function check({ event, distinctId, timestamp }: CapturedEvent): void {
  if (event === '' || event.length > nameCharsMax) {
    throw new Error(`capture: expected an event name of 1 to ${nameCharsMax} characters, got: ${event.length}`);
  }
  if (distinctId.trim() === '' || distinctId.length > idCharsMax) {
    throw new Error(`capture: expected a distinct_id of 1 to ${idCharsMax} characters, got: ${distinctId.length}`);
  }
  if (Number.isNaN(Date.parse(timestamp))) {
    throw new Error(`capture: expected an ISO 8601 timestamp, got: ${JSON.stringify(timestamp.slice(0, 50))}`);
  }
}

function eventOf(configId: number, { event, distinctId, timestamp, properties, cause, hops }: CapturedEvent): object {
  const { [hopsProperty]: _forged, ...own } = properties;
  return {
    uuid:
      cause === null ? newId() : derivedId('plugin-capture', String(configId), cause.uuid, String(cause.index), event),
    event,
    distinct_id: distinctId,
    timestamp,
    properties: hops > 0 ? { ...own, [hopsProperty]: hops } : own,
  };
}
