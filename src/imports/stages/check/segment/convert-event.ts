import { isStorableTime, isTooFarAhead, ownTime } from '../../../../wire/batch/event-time.ts';
import { nameCharsMax, scanLimits, type ScanLimits } from '../../../../wire/batch/limits.ts';
import { scanBatch } from '../../../../wire/batch/scan.ts';
import { distinctIdText, fieldFrom, fieldTo } from '../../../../wire/batch/spans.ts';
import { groupRefusal, profileRefusal, type ProfileRefusal } from '../../../../wire/batch/profile-refusals.ts';
import { validateEvent } from '../../../../wire/batch/validate.ts';
import { profileEvents } from '../../../../wire/contract/profile-events.ts';
import { runMark } from '../../../checksum.ts';
import { unstoredKeys, withoutKeys } from '../../../../wire/batch/stored-properties.ts';
import { canonicalUuid } from '../../../../base/uuids.ts';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import { storedId } from '../../../../wire/batch/stored-id.ts';
import { createTimeReader } from './event-times.ts';
import { isoOfMicros } from '../../../../base/clock.ts';

/** An event ready to be sent. */
export interface ReadyEvent {
  readonly kind: 'ready';
  /** In lower case. */
  uuid: string;
  event: string;
  /** As stored. */
  distinctId: string;
  /** µs since the epoch. */
  micros: number;
  /** JSON of its properties as stored, without the mark of the run. */
  stored: string;
  /** `stored` with the mark of the run. */
  text: string;
  /** JSON of the event as sent to ingest. */
  json: string;
}

/** The answer of ingest to an invalid event. */
export interface RefusedEvent {
  readonly kind: 'refused';
  readonly code: string;
  readonly reason: string;
}

export interface ConvertOptions {
  readonly runId: string;
  /** Maximum JSON size of one event. */
  readonly eventBytesMax: number;
  /** Current time for deciding which events are in the future; ms since the epoch. */
  readonly now: () => number;
  /** Receives the name of every property. */
  readonly names: KeyListener;
}

/** Returns the same ReadyEvent object on every call. */
export type ConvertEvent = (event: WireEvent) => ReadyEvent | RefusedEvent;

/**
 * Creates a function that adds the mark of the run and validates an event as ingest does. Nearly all events are obviously valid
 * without parsing their JSON again; the others go through the scanner of ingest, so that they are refused with the same reasons.
 */
export function createConverter(options: ConvertOptions): ConvertEvent {
  const { eventBytesMax, now, names } = options;
  const limits = scanLimits(eventBytesMax);
  const readTime = createTimeReader();
  const mark = runMark(options.runId);
  const ready: ReadyEvent = {
    kind: 'ready',
    uuid: '',
    event: '',
    distinctId: '',
    micros: 0,
    json: '',
    stored: '',
    text: '',
  };
  return (event) => {
    // The pipeline would refuse it, but only after its row is stored.
    const refusal = refusalOf(event);
    if (refusal !== undefined) return refused(refusal.code, refusal.detail);
    const isPlain = isPlainForm(event.properties, names) && hasPlainFields(event);
    const time = isPlain ? readTime(event.timestamp) : undefined;
    if (time !== undefined && isStorableTime(time.micros) && !isTooFarAhead(time.micros, now())) {
      fill(ready, event, time, mark);
      if (fits(ready.json, eventBytesMax)) return ready;
    }
    try {
      return validateFully(event, mark, limits, now(), ready);
    } catch (error) {
      // JSON.stringify only fails thousands of levels deeper than ingest does.
      if (error instanceof RangeError) return tooDeep(limits);
      throw error;
    }
  };
}

function hasPlainFields({ uuid, event, distinct_id: id, properties }: WireEvent): boolean {
  // Ingest replaces lone surrogates in a name.
  if (typeof event !== 'string' || event.length < 1 || event.length > nameCharsMax || !event.isWellFormed())
    return false;
  if (typeof id !== 'string' || canonicalUuid(uuid) === undefined || properties['$cookieless_mode'] !== undefined)
    return false;
  const first = id.charCodeAt(0);
  return first > 0x20 && first < 0x80;
}

function refusalOf({ event, properties }: WireEvent): ProfileRefusal | undefined {
  if (!profileEvents.has(event)) return undefined;
  return profileRefusal(event, properties) ?? groupRefusal(event, properties);
}

function fits(json: string, bytesMax: number): boolean {
  return json.length * 3 <= bytesMax || Buffer.byteLength(json) <= bytesMax;
}

interface Time {
  readonly micros: number;
  readonly text: string;
}

function fill(ready: ReadyEvent, source: WireEvent, time: Time, mark: string): void {
  const { event, distinct_id: id } = source;
  const properties = propertiesText(source.properties);
  const unstored = unstoredKeys(event, source.properties);
  const sent = marked(properties, mark);
  ready.stored = unstored.length === 0 ? properties : propertiesText(withoutKeys(source.properties, unstored));
  ready.text = unstored.length === 0 ? sent : marked(ready.stored, mark);
  ready.uuid = canonicalUuid(source.uuid) ?? source.uuid;
  ready.event = event;
  ready.distinctId = storedId(id);
  ready.micros = time.micros;
  ready.json =
    `{"uuid":"${ready.uuid}","event":${JSON.stringify(event)},"distinct_id":${JSON.stringify(ready.distinctId)},` +
    `"timestamp":"${time.text}","properties":${sent}}`;
}

/** Validates an event byte by byte like ingest. */
function validateFully(
  event: WireEvent,
  mark: string,
  limits: ScanLimits,
  now: number,
  ready: ReadyEvent,
): ReadyEvent | RefusedEvent {
  const { properties: source, ...fields } = event;
  const properties = marked(propertiesText(source), mark);
  const text = JSON.stringify(fields);
  const json = `${text.slice(0, -1)}${text === '{}' ? '' : ','}"properties":${properties}}`;
  const scan = scanBatch(Buffer.from(`[${json}]`), limits);
  const verdict = validateEvent(scan, 0, 'historical', now);
  if (!verdict.ok) return { kind: 'refused', code: verdict.code, reason: verdict.detail };
  // Ingest adds these to live events that lack them; a history without them would change with every import.
  if (canonicalUuid(event.uuid) === undefined) return refused('invalid_event_uuid', 'expected a uuid, got: none');
  const micros = ownTime(scan, 0);
  if (micros === undefined || micros === 'unreadable') {
    return refused('invalid_event_timestamp', 'expected the time of the event in "timestamp", got: none');
  }
  const distinctId = distinctIdText(scan.json, fieldFrom(scan, 0, 'distinctId'), fieldTo(scan, 0, 'distinctId'));
  const whole = { ...event, event: event.event.toWellFormed(), distinct_id: distinctId };
  fill(ready, whole, { micros, text: isoOfMicros(micros) }, mark);
  // The normalized time may be longer than in the source.
  return fits(ready.json, limits.eventBytesMax) ? ready : tooLarge(ready.json, limits);
}

function tooLarge(json: string, { eventBytesMax }: ScanLimits): RefusedEvent {
  const bytes = Buffer.byteLength(json);
  return refused('event_too_large', `expected an event of at most ${eventBytesMax} bytes of JSON, got: ${bytes}`);
}

function tooDeep({ depthMax }: ScanLimits): RefusedEvent {
  return refused('event_too_deep', `expected at most ${depthMax} levels of nesting in an event, got: more`);
}

function refused(code: string, reason: string): RefusedEvent {
  return { kind: 'refused', code, reason };
}

/** Returns the JSON of properties as stored, without the mark of the run; most need no copy. */
function propertiesText(properties: Readonly<Record<string, unknown>>): string {
  if (properties['$geoip_disable'] === true && properties['$import_run_id'] === undefined) {
    return JSON.stringify(properties);
  }
  // A previously imported event has the mark of its run; the mark of this run must come last.
  const { $import_run_id: _, ...others } = properties;
  return JSON.stringify({ ...others, $geoip_disable: true });
}

/** Appends the mark of the run as text. */
function marked(properties: string, mark: string): string {
  return properties.slice(0, -1) + mark;
}

const depthPlain = 48;
const keysPlain = 5000;

/** Receives the names of properties. */
interface KeyListener {
  readonly onKey: (key: string) => void;
  /** Called with the keys of `$set`, `$set_once` and `$group_set`. */
  readonly onNestedKey: (key: string) => void;
}

/** Returns whether depth and number of properties are safely within the limits of ingest. */
function isPlainForm(properties: Readonly<Record<string, unknown>>, { onKey, onNestedKey }: KeyListener): boolean {
  let keys = 0;
  // Records come from JSON.parse: own members only.
  for (const key in properties) {
    onKey(key);
    const value = properties[key];
    keys += 1;
    if (typeof value === 'object' && value !== null) keys += countKeys(value, 2, isBag(key) ? onNestedKey : undefined);
  }
  return keys <= keysPlain;
}

function isBag(key: string): boolean {
  return key === '$set' || key === '$set_once' || key === '$group_set';
}

/** Returns Infinity if nested too deep. */
function countKeys(value: object, depth: number, onKey?: (key: string) => void): number {
  if (depth > depthPlain) return Infinity;
  let keys = 0;
  if (Array.isArray(value)) {
    for (const each of value as readonly unknown[]) {
      if (typeof each === 'object' && each !== null) keys += countKeys(each, depth + 1);
    }
    return keys;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const key in members) {
    const each = members[key];
    onKey?.(key);
    keys += 1;
    if (typeof each === 'object' && each !== null) keys += countKeys(each, depth + 1);
  }
  return keys;
}
