import { isStorableTime } from '../../capture/event-time.ts';
import { parseTimestamp } from '../../capture/timestamps.ts';
import { isoOfMicros } from '../../persons/event-time.ts';
import type { JsonObject, TransformEvent } from '../../plugins/plugin.ts';
import type { TransformChains } from '../../transform/chains.ts';
import type { EventDraft } from '../draft.ts';
import { drop, ok, type Outcome } from '../outcome.ts';
import { cutId } from './cut-id.ts';

/** Runs the project's transformations over an event. Its uuid and the time of its identity stay whatever they do. */
export function transformEvent(chains: TransformChains, draft: EventDraft): Outcome<EventDraft> {
  if (!chains.has(draft.projectId)) return ok(draft);
  const timestamp = isoOfMicros(draft.micros);
  let isFirst = true;
  const text = draft.propertiesText ?? JSON.stringify(draft.properties);
  const source = (): TransformEvent => {
    const properties = isFirst ? draft.properties : (JSON.parse(text) as JsonObject);
    isFirst = false;
    const { uuid, event, distinctId: distinct_id, projectId: team_id } = draft;
    return { uuid, event, distinct_id, team_id, timestamp, properties };
  };
  const result = chains.run(draft.projectId, source);
  if (result.kind === 'dropped') {
    return drop('event_dropped_by_transformation', `dropped by ${result.step.label}`);
  }
  const { event } = result;
  draft.event = event.event;
  draft.distinctId = cutId(event.distinct_id);
  draft.properties = event.properties;
  draft.propertiesText = null;
  if (event.timestamp !== timestamp) {
    const micros = parseTimestamp(event.timestamp) ?? Date.parse(event.timestamp) * 1000;
    if (isStorableTime(micros)) draft.micros = micros;
  }
  return ok(draft);
}
