import { isStorableTime } from '../../batch/event-time.ts';
import { parseTimestamp } from '../../batch/timestamps.ts';
import { isoOfMicros } from '../../base/clock.ts';
import { ChainEvent } from '../../transform/chain-event.ts';
import type { EventDraft } from '../draft.ts';
import { drop, ok, type Outcome } from '../outcome.ts';
import { storedId } from '../../batch/stored-id.ts';
import { unread } from './read-event.ts';

/** An event as the project's transformations get it. `receivedAt` in ms. */
export function intoChain(draft: EventDraft, receivedAt: number): ChainEvent {
  const { uuid, event, distinctId, projectId: teamId } = draft;
  const timestamp = isoOfMicros(draft.micros);
  const properties = draft.properties === unread ? null : draft.properties;
  return new ChainEvent({ uuid, event, distinctId, teamId, timestamp, receivedAt }, properties, draft.propertiesText);
}

/** What the transformations made of it. The time of its identity stays whatever they do. */
export function outOfChain(draft: EventDraft, event: ChainEvent): Outcome<EventDraft> {
  if (event.droppedBy !== undefined) {
    return drop('event_dropped_by_transformation', `dropped by ${event.droppedBy.label}`);
  }
  const { head } = event;
  const { properties, text } = event.result();
  draft.uuid = head.uuid;
  draft.event = head.event;
  draft.distinctId = storedId(head.distinctId);
  draft.properties = properties;
  draft.propertiesText = text;
  if (head.timestamp !== event.source.timestamp) {
    const micros = parseTimestamp(head.timestamp) ?? Date.parse(head.timestamp) * 1000;
    if (isStorableTime(micros)) draft.micros = micros;
  }
  return ok(draft);
}
