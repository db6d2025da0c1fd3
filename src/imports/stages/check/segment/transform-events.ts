import { isoOfMicros } from '../../../../base/clock.ts';
import { isObject, objectIn } from '../../../../base/json.ts';
import { parseTimestamp } from '../../../../wire/batch/timestamps.ts';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import { setMember, type Json, type Properties } from '../../../formats/read-values.ts';
import type {
  CodeOutcome,
  HandedEvent,
  OpenTransform,
  TransformAbout,
  TransformFault,
  TransformOutcome,
} from '../../../transform.ts';
import { exactNumber, mayHoldExact } from '../../../../base/exact-json.ts';

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

/**
 * Numbers of more digits than JavaScript holds reach the code of a transform rounded. Where it leaves one in its place, the digits
 * of the source take the place of the rounded ones; where it writes the rounded number elsewhere, that can be told by its many
 * digits, and the digits of the source are put there, too. What it writes into a text cannot be mended.
 */
type KeptDigits =
  | { readonly kind: 'kept'; readonly properties: Json }
  /** The number of the source that stands rounded in a text. */
  | { readonly kind: 'lost'; readonly number: string };

/** A rounded number with so many digits is no other one by chance. */
const tellingDigits = 15;

/** `before`: as it was handed over, as text `beforeText`. `after`: what came back. `texts`: what else came back. */
export function keepDigits(
  { before, beforeText }: { readonly before: Json; readonly beforeText: string },
  after: Json,
  texts: readonly string[],
): KeptDigits {
  if (!mayHoldExact(beforeText)) return { kind: 'kept', properties: after };
  const moved = movedNumbers(before);
  if (moved === undefined) return { kind: 'kept', properties: after };
  const properties = restore(before, after, moved) as Json;
  const lost = roundedInText(moved, properties, beforeText, texts);
  return lost === undefined ? { kind: 'kept', properties } : { kind: 'lost', number: lost };
}

/** Numbers beyond a double, by what JavaScript makes of them; those that could be told from others. Undefined: there are none at all. */
type Moved = ReadonlyMap<number, unknown>;

function movedNumbers(before: Json): Moved | undefined {
  const moved = new Map<number, unknown>();
  let found = 0;
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const text = exactNumber(value);
    if (text === undefined) {
      for (const each of Object.values(value)) look(each);
      return;
    }
    found += 1;
    const rounded = Number(text);
    const digits = String(rounded).replace(/e.*$/, '').replaceAll(/\D/g, '').replace(/^0+/, '');
    if (digits.length >= tellingDigits) moved.set(rounded, value);
  };
  look(before);
  return found === 0 ? undefined : moved;
}

/** `after` with the exact numbers of `before`. */
function restore(before: unknown, after: unknown, moved: Moved): unknown {
  const own = typeof before === 'object' && before !== null ? exactNumber(before) : undefined;
  if (own !== undefined && isRounded(Number(own), after)) return before;
  if (typeof after === 'number') return moved.get(after) ?? after;
  if (Array.isArray(after)) {
    const known: readonly unknown[] = Array.isArray(before) ? before : [];
    return after.map((each, index) => restore(known[index], each, moved));
  }
  if (!isObject(after)) return after;
  const known: Json = isObject(before) ? before : {};
  const restored: Properties = {};
  for (const [key, value] of Object.entries(after)) {
    setMember(restored, key, restore(Object.hasOwn(known, key) ? known[key] : undefined, value, moved));
  }
  return restored;
}

/** JSON has no infinity: what is too large for JavaScript comes back as null. */
function isRounded(rounded: number, after: unknown): boolean {
  return after === rounded || (after === null && !Number.isFinite(rounded));
}

function roundedInText(
  moved: Moved,
  properties: Json,
  beforeText: string,
  texts: readonly string[],
): string | undefined {
  if (moved.size === 0) return undefined;
  const after = [JSON.stringify(properties), ...texts];
  for (const [rounded, value] of moved) {
    const digits = String(rounded);
    if (!beforeText.includes(digits) && after.some((text) => text.includes(digits))) return exactNumber(value);
  }
  return undefined;
}
