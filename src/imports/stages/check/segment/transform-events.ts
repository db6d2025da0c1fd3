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

/** Passes events to the transform as the pipeline passes them to plugins, and reads the results. Throws what `run` throws. */
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
    // Malformed events are refused by the check with its own reason.
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
  // This mark keeps GeoIP from locating old addresses today; a GeoIP transform of the run is wanted.
  const { $geoip_disable: _, ...properties } = event.properties;
  return {
    uuid: event.uuid,
    event: event.event,
    distinctId: event.distinct_id,
    teamId: projectId,
    // The code may understand a time that we cannot parse.
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
  if (after === undefined) return failed(about, 'transform_failed', 'it returned properties that are not an object');
  const before = { before: event.properties, beforeText: given.propertiesText };
  const kept = keepDigits(before, after, [name, distinctId]);
  if (kept.kind === 'lost') {
    const reason = `it wrote ${kept.number} rounded into a text: JavaScript numbers have at most 17 digits; export it as text`;
    return failed(about, 'transform_digits', reason);
  }
  return {
    kind: 'kept',
    event: {
      uuid,
      event: name,
      distinct_id: distinctId,
      // As in the source, unless the code changed it.
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
 * Numbers with more digits than JavaScript keeps reach a transform rounded. Where the code leaves one in place, the digits of the source
 * are restored. Where it copies the rounded number elsewhere, its many digits identify it and the source's digits are restored too. A
 * rounded number inside a text cannot be repaired.
 */
type KeptDigits =
  | { readonly kind: 'kept'; readonly properties: Json }
  /** The number of the source that a text contains rounded. */
  | { readonly kind: 'lost'; readonly number: string };

/** A rounded number with this many digits is not a coincidence. */
const identifyingDigits = 15;

/** `before` was passed to the code as `beforeText`; `after` and `texts` are its results. */
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

/** Identifiable numbers beyond a double, by their rounded value. */
type Moved = ReadonlyMap<number, unknown>;

function movedNumbers(before: Json): Moved | undefined {
  const moved = new Map<number, unknown>();
  let found = 0;
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const text = exactNumber(value);
    if (text === undefined) {
      for (const each of Object.values(value)) visit(each);
      return;
    }
    found += 1;
    const rounded = Number(text);
    const digits = String(rounded).replace(/e.*$/, '').replaceAll(/\D/g, '').replace(/^0+/, '');
    if (digits.length >= identifyingDigits) moved.set(rounded, value);
  };
  visit(before);
  return found === 0 ? undefined : moved;
}

/** Returns `after` with the exact numbers of `before`. */
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

/** JSON has no infinity: a number too large for JavaScript comes back as null. */
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
