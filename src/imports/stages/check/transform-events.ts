import { isoOfMicros } from '../../../base/clock.ts';
import { isObject, objectIn } from '../../../base/json.ts';
import { parseTimestamp } from '../../../wire/batch/timestamps.ts';
import type { WireEvent } from '../../../wire/contract/wire-event.ts';
import type { Json } from '../../formats/read-values.ts';
import type {
  CodeOutcome,
  HandedEvent,
  OpenTransform,
  TransformAbout,
  TransformFault,
  TransformOutcome,
} from '../../transform.ts';
import { keepDigits } from './keep-digits.ts';

/** Hands events over as the pipeline hands them to plugins, and takes back what they became. Throws what `run` throws. */
export async function transformEvents(
  about: TransformAbout,
  opened: Pick<OpenTransform, 'run'>,
  events: readonly WireEvent[],
): Promise<readonly TransformOutcome[]> {
  const handed = events.map((event) => (isWhole(event) ? handedOver(event, about) : undefined));
  const outcomes = await opened.run(handed.filter((event) => event !== undefined));
  let next = 0;
  return events.map((event, index): TransformOutcome => {
    const given = handed[index];
    // What is no event at all is refused by the check, in its own words.
    if (given === undefined) return { kind: 'kept', event };
    const outcome = outcomes[next];
    next += 1;
    if (outcome === undefined) return failed(about, 'transform_failed', 'expected a result per event, got none');
    return toOutcome(about, event, given, outcome);
  });
}

function isWhole({ uuid, event, distinct_id: id, timestamp, properties }: WireEvent): boolean {
  return [uuid, event, id, timestamp].every((text) => typeof text === 'string') && isObject(properties);
}

function handedOver(event: WireEvent, { projectId, receivedAt }: TransformAbout): HandedEvent {
  const micros = parseTimestamp(event.timestamp);
  // Keeps the target from taking an old address for a place of today; code that is asked for here is meant to.
  const { $geoip_disable: _, ...properties } = event.properties;
  return {
    uuid: event.uuid,
    event: event.event,
    distinctId: event.distinct_id,
    teamId: projectId,
    // A time that nobody can read may be one that the code can.
    timestamp: micros === undefined ? event.timestamp : isoOfMicros(micros),
    receivedAt,
    propertiesText: JSON.stringify(properties),
  };
}

function toOutcome(
  about: TransformAbout,
  event: WireEvent,
  given: HandedEvent,
  outcome: CodeOutcome,
): TransformOutcome {
  switch (outcome.kind) {
    case 'unchanged':
      return { kind: 'kept', event };
    case 'dropped':
      return { kind: 'dropped' };
    case 'failed':
      return failed(about, outcome.code, outcome.reason);
    case 'changed':
      if (outcome.movedTeam) return failed(about, 'transform_failed', 'it moved the event to another project');
      return changed(about, event, given, outcome);
  }
}

function changed(
  about: TransformAbout,
  event: WireEvent,
  given: HandedEvent,
  { uuid, event: name, distinctId, timestamp, propertiesText }: Extract<CodeOutcome, { kind: 'changed' }>,
): TransformOutcome {
  const after = objectIn(propertiesText);
  if (after === undefined) return failed(about, 'transform_failed', 'it gave back properties that are no object');
  const before = { before: event.properties, beforeText: given.propertiesText };
  const kept = keepDigits(before, after, [name, distinctId]);
  if (kept.kind === 'lost') {
    const reason = `it wrote ${kept.number} into a text, rounded: JavaScript holds no more than 17 digits; let the source give it as text`;
    return failed(about, 'transform_digits', reason);
  }
  return {
    kind: 'kept',
    event: {
      uuid,
      event: name,
      distinct_id: distinctId,
      // As the source wrote it, unless the code wrote another one.
      timestamp: timestamp === given.timestamp ? event.timestamp : timestamp,
      properties: markedAs(event, kept.properties),
    },
  };
}

function markedAs({ properties: { $geoip_disable: mark } }: WireEvent, properties: Json): Json {
  return mark === undefined ? properties : { ...properties, $geoip_disable: mark };
}

function failed({ name }: TransformAbout, code: TransformFault, reason: string): TransformOutcome {
  return { kind: 'failed', code, reason: `the transform "${name}": ${reason}` };
}
