import { canonicalUuid } from '../../base/uuids.ts';
import type { WarningType } from '../contract/warnings.ts';
import type { Lane } from '../../log/eventlog.ts';
import { isStorableTime, isTooFarAhead, ownTime } from './event-time.ts';
import { eventDepthMax, eventKeysMax, nameCharsMax } from './limits.ts';
import { eventFlag, scanProblems, span, spanStride, type ScannedBatch } from './scanned-batch.ts';
import {
  fieldFrom,
  fieldTo,
  flagsOf,
  isEmptyArrayAt,
  isNullAt,
  isNumberAt,
  isObjectAt,
  isStringAt,
  stringAt,
  textAt,
} from './spans.ts';
import { parseIsoBytes } from './timestamps.ts';

export type Verdict = { readonly ok: true } | Refusal;
export interface Refusal {
  readonly ok: false;
  readonly code: WarningType;
  /** What was expected and what was received. */
  readonly detail: string;
  /** The invalid field, without the event's path in the body. */
  readonly attr: string | null;
}

const good: Verdict = { ok: true };

function bad(code: WarningType, attr: string | null, detail: string): Refusal {
  return { ok: false, code, attr, detail };
}

/**
 * Checks whether the event can be stored. The result depends only on the arguments, so capture and a later replay of the same
 * record agree. `receivedAt` is in ms since the epoch.
 */
export function validateEvent(scan: ScannedBatch, index: number, lane: Lane, receivedAt: number): Verdict {
  if (isPlainlyGood(scan, index, lane, receivedAt)) return good;
  return (
    checkLimits(scan, index) ??
    checkName(scan, index) ??
    checkDistinctId(scan, index) ??
    checkUuid(scan, index) ??
    checkObjects(scan, index) ??
    checkTime(scan, index, lane, receivedAt) ??
    checkCookieless(scan, index) ??
    good
  );
}

/** Recognises the form of nearly every event in as few steps as possible. `false` is inconclusive. */
function isPlainlyGood({ json, spans }: ScannedBatch, index: number, lane: Lane, receivedAt: number): boolean {
  const row = index * spanStride;
  const at = (cell: number): number => spans[row + cell] as number;
  if (at(span.problem) !== 0 || at(span.offset) >= 0 || (at(span.flags) & eventFlag.special) !== 0) return false;
  if (at(span.set) >= 0 || at(span.setOnce) >= 0) return false;
  const name = at(span.name);
  const nameBytes = at(span.name + 1) - name - 2;
  if (name < 0 || json[name] !== quote || nameBytes < 1 || nameBytes > nameCharsMax) return false;
  const id = at(span.distinctId);
  if (id < 0 || json[id] !== quote || !startsPlainly(json, id, at(span.distinctId + 1))) return false;
  const uuid = at(span.uuid);
  if (uuid >= 0 && !(at(span.uuid + 1) - uuid === 38 && json[uuid] === quote && isUuidText(json, uuid))) return false;
  const properties = at(span.properties);
  if (properties >= 0 && json[properties] !== 0x7b) return false;
  if (lane === 'live') return true;
  const time = at(span.timestamp);
  const micros = time < 0 ? undefined : parseIsoBytes(json, time, at(span.timestamp + 1));
  return micros !== undefined && isStorableTime(micros) && !isTooFarAhead(micros, receivedAt);
}

/** Checks for an id that starts with a plain character, so that it need not be decoded and trimmed. */
function startsPlainly(json: Buffer, from: number, to: number): boolean {
  const first = json[from + 1] as number;
  return to - from > 2 && first > 0x20 && first < 0x80 && first !== 0x5c;
}

const limitDetails = {
  event_too_large:
    'expected an event within the limit for one event (MILLRACE_CAPTURE_EVENT_BYTES_MAX, 1 MB by default), got: {} bytes',
  event_too_deep: `expected at most ${eventDepthMax} levels of nesting in an event, got: more`,
  too_many_keys: `expected at most ${eventKeysMax.toLocaleString('en')} object keys in an event, got: more`,
  invalid_event: 'expected an event to be a JSON object, got: {}',
} as const;

function checkLimits(scan: ScannedBatch, index: number): Refusal | undefined {
  const problem = scanProblems[(scan.spans[index * spanStride + span.problem] ?? 0) - 1];
  if (problem === undefined) return undefined;
  const from = fieldFrom(scan, index, 'event');
  const to = fieldTo(scan, index, 'event');
  const shown = problem === 'invalid_event' ? excerpt(scan.json, from, to) : String(to - from);
  return bad(
    problem,
    null,
    limitDetails[problem].replace('{}', () => shown),
  );
}

/** Returns about the first 40 characters of a value, for a message. */
function excerpt(json: Buffer, from: number, to: number): string {
  return to - from <= 40 ? textAt(json, from, to) : `${json.toString('utf8', from, from + 40)}…`;
}

function checkName(scan: ScannedBatch, index: number): Refusal | undefined {
  const from = fieldFrom(scan, index, 'name');
  const to = fieldTo(scan, index, 'name');
  if (from < 0 || isNullAt(scan.json, from)) {
    return bad(
      'missing_event_name',
      'event',
      'event submitted without an event name: expected a string in "event", got: none',
    );
  }
  if (!isStringAt(scan.json, from)) {
    const got = excerpt(scan.json, from, to);
    return bad('invalid_event_name', 'event', `expected "event" to be a string, got: ${got}`);
  }
  if (to - from === 2) return bad('missing_event_name', 'event', 'event submitted with an empty event name');
  if (to - from - 2 > nameCharsMax) {
    const chars = characters(stringAt(scan.json, from, to));
    if (chars > nameCharsMax) {
      const detail = `expected an event name of at most ${nameCharsMax} characters, got: ${chars}`;
      return bad('event_name_too_long', 'event', detail);
    }
  }
  return undefined;
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function checkDistinctId(scan: ScannedBatch, index: number): Refusal | undefined {
  const from = fieldFrom(scan, index, 'distinctId');
  if (from < 0 || isNullAt(scan.json, from)) return missingId('none');
  if (!isStringAt(scan.json, from)) return undefined;
  const to = fieldTo(scan, index, 'distinctId');
  if (startsPlainly(scan.json, from, to)) return undefined;
  return stringAt(scan.json, from, to).trim() === '' ? missingId('an empty string') : undefined;
}

function missingId(got: string): Refusal {
  return bad(
    'missing_distinct_id',
    'distinct_id',
    `event submitted without a distinct_id: expected a "distinct_id", got: ${got}`,
  );
}

/** Accepts a UUID in any spelling. */
function checkUuid(scan: ScannedBatch, index: number): Refusal | undefined {
  const from = fieldFrom(scan, index, 'uuid');
  if (from < 0 || isNullAt(scan.json, from)) return undefined;
  const to = fieldTo(scan, index, 'uuid');
  if (isStringAt(scan.json, from) && (to - from === 2 || isUuidAt(scan.json, from, to))) return undefined;
  const got = excerpt(scan.json, from, to);
  return bad(
    'invalid_event_uuid',
    'uuid',
    `expected "uuid" to be a UUID (32 hexadecimal digits, with or without dashes), got: ${got}`,
  );
}

function isUuidAt(json: Buffer, from: number, to: number): boolean {
  if (to - from === 38 && isUuidText(json, from)) return true;
  return canonicalUuid(stringAt(json, from, to)) !== undefined;
}

function isUuidText(json: Buffer, from: number): boolean {
  if (json[from + 9] !== 0x2d || json[from + 14] !== 0x2d) return false;
  if (json[from + 19] !== 0x2d || json[from + 24] !== 0x2d || json[from + 37] !== quote) return false;
  let digits = 0;
  for (let at = from + 1; at <= from + 36; at++) digits += isHexDigit[json[at] as number] as number;
  return digits === 32;
}

const quote = 0x22;
const isHexDigit = new Uint8Array(256);
for (const digit of '0123456789abcdefABCDEF') isHexDigit[digit.charCodeAt(0)] = 1;

const objectFields = [
  ['properties', 'properties'],
  ['set', '$set'],
  ['setOnce', '$set_once'],
] as const;

function checkObjects(scan: ScannedBatch, index: number): Refusal | undefined {
  for (const [field, attr] of objectFields) {
    const from = fieldFrom(scan, index, field);
    if (from < 0 || isObjectAt(scan.json, from) || isNullAt(scan.json, from)) continue;
    const to = fieldTo(scan, index, field);
    if (isEmptyArrayAt(scan.json, from, to)) continue;
    const got = excerpt(scan.json, from, to);
    return bad('malformed_event_properties', attr, `expected "${attr}" to be an object, got: ${got}`);
  }
  return undefined;
}

function checkTime(scan: ScannedBatch, index: number, lane: Lane, receivedAt: number): Refusal | undefined {
  const offset = fieldFrom(scan, index, 'offset');
  if (offset >= 0 && !isNullAt(scan.json, offset) && !isNumberAt(scan.json, offset)) {
    const got = excerpt(scan.json, offset, fieldTo(scan, index, 'offset'));
    return bad('invalid_event_offset', 'offset', `expected "offset" to be a number of milliseconds, got: ${got}`);
  }
  // Live events with a wrong clock get the time of receipt and a warning. History must be exact.
  if (lane === 'live') return undefined;
  const own = ownTime(scan, index);
  if (own === undefined) return undefined;
  if (own !== 'unreadable' && isStorableTime(own) && !isTooFarAhead(own, receivedAt)) return undefined;
  const got = excerpt(scan.json, fieldFrom(scan, index, 'timestamp'), fieldTo(scan, index, 'timestamp'));
  const detail = `expected "timestamp" to be an ISO 8601 time from 1900 on that is not in the future, got: ${got}`;
  return bad('invalid_event_timestamp', 'timestamp', detail);
}

function checkCookieless(scan: ScannedBatch, index: number): Refusal | undefined {
  if ((flagsOf(scan, index) & eventFlag.special) === 0) return undefined;
  const properties = scan.json.subarray(fieldFrom(scan, index, 'properties'), fieldTo(scan, index, 'properties'));
  // Rare, so it has no span: parse only what may contain it.
  if (!properties.includes('$cookieless_mode')) return undefined;
  const mode = (JSON.parse(properties.toString()) as Record<string, unknown>)['$cookieless_mode'];
  if (mode === undefined || mode === null || typeof mode === 'boolean') return undefined;
  const got = JSON.stringify(mode).slice(0, 40);
  const attr = 'properties.$cookieless_mode';
  return bad('invalid_cookieless_mode', attr, `expected "$cookieless_mode" to be true or false, got: ${got}`);
}
