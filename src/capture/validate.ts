import type { WarningType } from '../contract/warnings.ts';
import type { Lane } from '../eventlog/eventlog.ts';
import { isStorableTime, isTooFarAhead, ownTime } from './event-time.ts';
import { eventFlag, scanProblems, span, spanStride, type ScannedBatch } from './scanned-batch.ts';
import {
  fieldFrom,
  fieldTo,
  flagsOf,
  hasBackslash,
  isNullAt,
  isNumberAt,
  isObjectAt,
  isStringAt,
  stringAt,
  textAt,
} from './spans.ts';

export const nameCharsMax = 200;

export type Verdict = { readonly ok: true } | Refusal;
export interface Refusal {
  readonly ok: false;
  readonly code: WarningType;
  /** What was expected and what came. */
  readonly detail: string;
  /** The field at fault, without the event's place in the body. */
  readonly attr: string | null;
}

const good: Verdict = { ok: true };

function bad(code: WarningType, attr: string | null, detail: string): Refusal {
  return { ok: false, code, attr, detail };
}

/**
 * Whether the event can be stored. Depends on nothing but its arguments, so capture and a later replay of the same
 * record agree. `receivedAt`: arrival of the request in ms since the epoch.
 */
export function validateEvent(scan: ScannedBatch, index: number, lane: Lane, receivedAt: number): Verdict {
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

const limitDetails = {
  event_too_large:
    'expected an event within the limit for one event (MILLRACE_CAPTURE_EVENT_BYTES_MAX, 1 MB by default), got: {} bytes',
  event_too_deep: 'expected at most 64 levels of nesting in an event, got: more',
  too_many_keys: 'expected at most 10,000 object keys in an event, got: more',
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

/** At most some 40 characters of a value, for a message. */
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
      'event submitted without an event name: expected a text in "event", got: none',
    );
  }
  if (!isStringAt(scan.json, from)) {
    const got = excerpt(scan.json, from, to);
    return bad('invalid_event_name', 'event', `expected "event" to be a text, got: ${got}`);
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
  const first = scan.json[from + 1] ?? 0;
  // Most ids start with a plain character: nothing to decode, nothing to trim.
  if (to - from > 2 && first > 0x20 && first < 0x80 && first !== 0x5c) return undefined;
  return stringAt(scan.json, from, to).trim() === '' ? missingId('an empty text') : undefined;
}

function missingId(got: string): Refusal {
  return bad(
    'missing_distinct_id',
    'distinct_id',
    `event submitted without a distinct_id: expected a "distinct_id", got: ${got}`,
  );
}

/** 8-4-4-4-12 hexadecimal digits, in either case. */
function checkUuid(scan: ScannedBatch, index: number): Refusal | undefined {
  const from = fieldFrom(scan, index, 'uuid');
  if (from < 0 || isNullAt(scan.json, from)) return undefined;
  const to = fieldTo(scan, index, 'uuid');
  if (isStringAt(scan.json, from) && (to - from === 2 || isUuidAt(scan.json, from, to))) return undefined;
  const got = excerpt(scan.json, from, to);
  return bad('invalid_event_uuid', 'uuid', `expected "uuid" to be a UUID (8-4-4-4-12 hexadecimal digits), got: ${got}`);
}

function isUuidAt(json: Buffer, from: number, to: number): boolean {
  if (to - from === 38 && isUuidText(json, from)) return true;
  return hasBackslash(json, from, to) && isUuidText(Buffer.from(`"${stringAt(json, from, to)}"`), 0);
}

function isUuidText(json: Buffer, from: number): boolean {
  for (let i = 1; i <= 36; i++) {
    const byte = json[from + i] ?? 0;
    const hyphen = i === 9 || i === 14 || i === 19 || i === 24;
    if (hyphen ? byte !== 0x2d : !isHexDigit(byte)) return false;
  }
  return json[from + 37] === 0x22;
}

function isHexDigit(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66) || (byte >= 0x41 && byte <= 0x46);
}

const objectFields = [
  ['properties', 'properties'],
  ['set', '$set'],
  ['setOnce', '$set_once'],
] as const;

function checkObjects(scan: ScannedBatch, index: number): Refusal | undefined {
  for (const [field, attr] of objectFields) {
    const from = fieldFrom(scan, index, field);
    if (from < 0 || isObjectAt(scan.json, from) || isNullAt(scan.json, from)) continue;
    const got = excerpt(scan.json, from, fieldTo(scan, index, field));
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
  // Live events with a wrong clock are worth keeping: they get the arrival time and a warning. History must be exact.
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
  // Rare, so it has no span of its own: parse only what may hold it.
  if (!properties.includes('$cookieless_mode')) return undefined;
  const mode = (JSON.parse(properties.toString()) as Record<string, unknown>)['$cookieless_mode'];
  if (mode === undefined || mode === null || typeof mode === 'boolean') return undefined;
  const got = JSON.stringify(mode).slice(0, 40);
  const attr = 'properties.$cookieless_mode';
  return bad('invalid_cookieless_mode', attr, `expected "$cookieless_mode" to be true or false, got: ${got}`);
}
