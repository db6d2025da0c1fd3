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

/** An event as it will be sent. */
export interface ReadyEvent {
  readonly kind: 'ready';
  /** Lower case. */
  uuid: string;
  event: string;
  /** As the store keeps it. */
  distinctId: string;
  /** µs since the epoch. */
  micros: number;
  /** Text of its properties as the store will have it, without the mark of the run. */
  stored: string;
  /** The same with the mark. */
  text: string;
  /** JSON of the event as the door would get it. */
  json: string;
}

/** The door would answer this. */
export interface RefusedEvent {
  readonly kind: 'refused';
  readonly code: string;
  readonly reason: string;
}

export interface ConvertOptions {
  readonly runId: string;
  /** Of JSON, one event. */
  readonly eventBytesMax: number;
  /** What counts as now when times lie in the future; ms since the epoch. */
  readonly now: () => number;
  /** Hears the name of every property. */
  readonly names: KeyListener;
}

/** Of which the answer is ready is the same object at every call. */
export type ConvertEvent = (event: WireEvent) => ReadyEvent | RefusedEvent;

/**
 * Adds the marks of the run and judges an event as the door does. Nearly all events are plainly good, which is seen
 * without reading their JSON again; the others go through the door's own scanner, so that what is refused there is
 * refused here with the same words.
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
    // The pipeline would refuse it, whose rows may be stored by then.
    const refusal = refusalOf(event);
    if (refusal !== undefined) return refused(refusal.code, refusal.detail);
    const isPlain = isPlainForm(event.properties, names) && hasPlainFields(event);
    const time = isPlain ? readTime(event.timestamp) : undefined;
    if (time !== undefined && isStorableTime(time.micros) && !isTooFarAhead(time.micros, now())) {
      fill(ready, event, time, mark);
      if (fits(ready.json, eventBytesMax)) return ready;
    }
    try {
      return judge(event, mark, limits, now(), ready);
    } catch (error) {
      // JSON.stringify gives up thousands of levels later than the door.
      if (error instanceof RangeError) return tooDeep(limits);
      throw error;
    }
  };
}

function hasPlainFields({ uuid, event, distinct_id: id, properties }: WireEvent): boolean {
  // The door replaces half of a pair in a name.
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

/** As the door does, byte by byte. */
function judge(
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
  // The door gives these to live events that lack them; a history that lacks them would be another one at every import.
  if (canonicalUuid(event.uuid) === undefined) return refused('invalid_event_uuid', 'expected a uuid, got: none');
  const micros = ownTime(scan, 0);
  if (micros === undefined || micros === 'unreadable') {
    return refused('invalid_event_timestamp', 'expected the time of the event in "timestamp", got: none');
  }
  const distinctId = distinctIdText(scan.json, fieldFrom(scan, 0, 'distinctId'), fieldTo(scan, 0, 'distinctId'));
  const whole = { ...event, event: event.event.toWellFormed(), distinct_id: distinctId };
  fill(ready, whole, { micros, text: isoOfMicros(micros) }, mark);
  // The time may have become longer than the source wrote it.
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

/** JSON of the properties as they are stored, without the mark of the run: most need no copy for that. */
function propertiesText(properties: Readonly<Record<string, unknown>>): string {
  if (properties['$geoip_disable'] === true && properties['$import_run_id'] === undefined) {
    return JSON.stringify(properties);
  }
  // An event that was imported before bears the mark of its run; this run's comes last, where it is looked for.
  const { $import_run_id: _, ...others } = properties;
  return JSON.stringify({ ...others, $geoip_disable: true });
}

/** With the mark of the run, which is appended as text. */
function marked(properties: string, mark: string): string {
  return properties.slice(0, -1) + mark;
}

const depthPlain = 48;
const keysPlain = 5000;

/** Who hears the names of properties. */
interface KeyListener {
  /** Of the first level. */
  readonly onKey: (key: string) => void;
  /** Of those of the person and the group: in `$set`, `$set_once` and `$group_set`. */
  readonly onNestedKey: (key: string) => void;
}

/** Whether properties nest and number so little that the door cannot mind. */
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

/** Infinity: nested too deep to go on. */
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
