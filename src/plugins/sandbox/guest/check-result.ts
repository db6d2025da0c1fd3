import type { WireError } from '../wire/messages.ts';
import { ipOf, isAsItCame, lengthAsItCame, type Given, type GuestEvent } from './guest-event.ts';
import {
  DateType,
  isArray,
  isNotANumber,
  lowerCase,
  matches,
  parse,
  parseTime,
  stringify,
  toIso,
} from './intrinsics.ts';
import { describeValue, fault } from './thrown.ts';

/** The result of one event for results-text: the rest of its entry, and the text after it. */
export interface Checked {
  readonly entry: string;
  readonly text: string;
}

const unchanged: Checked = { entry: '0', text: '' };
export const dropped: Checked = { entry: '1', text: '' };
const textLengthMax = 8 * 1024 * 1024;
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const isoForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;
/** Numbers that lose digits when parsed in JavaScript. */
const longNumber = /\d{16}/;
const yearMsMax = 253_402_300_799_999;
const yearMsMin = -62_135_596_800_000;

export function failed(error: WireError): Checked {
  return { entry: `3,${stringify(error)}`, text: '' };
}

/** Checks and completes a plugin's result, and compares it with the original event. */
export function checkResult(
  result: unknown,
  handed: GuestEvent,
  given: Given,
  context: { readonly label: string; readonly method: string },
): Checked {
  if (!result) return dropped;
  const refuse = (expected: string, got: unknown): Checked =>
    failed(fault('result', context.method, `expected ${expected}, got ${describeValue(got)}`));
  if (typeof result !== 'object' || isArray(result)) {
    return refuse(`${context.method} to return the event, or null to drop it`, result);
  }
  const event = result as Record<string, unknown>;
  const [uuid0, name0, distinctId0, teamId0, timestamp0] = given.head;
  const { event: name, distinct_id: distinctId, uuid = uuid0, team_id: teamId = teamId0 } = event;
  if (typeof name !== 'string' || name === '') return refuse('the event to have a name', name);
  if (typeof distinctId !== 'string' || distinctId === '') return refuse('a text as distinct_id', distinctId);
  if (uuid !== uuid0 && (typeof uuid !== 'string' || !matches(uuidForm, uuid))) return refuse('a UUID as uuid', uuid);
  const timestamp = readTimestamp(event['timestamp'] ?? timestamp0, timestamp0);
  if (timestamp === undefined) return refuse('a time that can be read as timestamp', event['timestamp']);
  const { properties } = event;
  if (!isPlain(properties)) return refuse('an object as properties', properties);
  for (const key of ['$set', '$set_once'] as const) {
    const beside = event[key];
    if (beside === undefined || beside === null) continue;
    if (!isPlain(beside)) return refuse(`an object as ${key}`, beside);
    const inside = properties[key];
    properties[key] = isPlain(inside) ? { ...inside, ...beside } : beside;
  }
  applyIp(event, properties, handed, given);
  const text = finalText(properties, given, context.label);
  if (text[0] !== '{') return refuse('properties that JSON can hold', text);
  if (text.length > textLengthMax) {
    return refuse(`properties of at most ${textLengthMax} characters`, text.length);
  }
  const lowerUuid = uuid === uuid0 ? uuid0 : lowerCase(uuid as string);
  const fields =
    fieldOr(lowerUuid, uuid0) +
    fieldOr(name, name0) +
    fieldOr(distinctId, distinctId0) +
    fieldOr(timestamp, timestamp0);
  const moved = teamId !== teamId0;
  if (!moved && fields === ',0,0,0,0' && isUntouched(text, given, context.label)) return unchanged;
  return { entry: `2,${text.length},${moved ? 1 : 0}${fields}`, text };
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !isArray(value);
}

function fieldOr(value: string, before: string): string {
  return value === before ? ',0' : `,${stringify(value)}`;
}

/** Returns ISO 8601 UTC, or `undefined`. An unchanged time keeps every digit. */
function readTimestamp(value: unknown, before: string): string | undefined {
  if (value === before) return before;
  if (typeof value === 'string' && matches(isoForm, value) && !isNotANumber(parseTime(value))) return value;
  const ms = typeof value === 'string' ? parseTime(value) : value instanceof DateType ? +value : Number.NaN;
  return ms >= yearMsMin && ms <= yearMsMax ? toIso(new DateType(ms)) : undefined;
}

/** `ip` next to the properties is another name for `$ip`; a change of `$ip` takes precedence. */
function applyIp(
  event: Record<string, unknown>,
  properties: Record<string, unknown>,
  handed: GuestEvent,
  given: Given,
): void {
  const { ip } = event;
  // A new object without `ip` does not change it.
  if (ip === undefined && event !== handed) return;
  const before = given.ip;
  const after = typeof ip === 'string' && ip !== '' ? ip : null;
  if (after === before || ipOf(properties) !== before) return;
  if (after === null) delete properties['$ip'];
  else properties['$ip'] = after;
}

function finalText(properties: Record<string, unknown>, { stamp }: Given, label: string): string {
  if (stamp !== null) {
    properties['$plugins_succeeded'] = [...stamp.succeeded, label];
    properties['$plugins_failed'] = [...stamp.failed];
  }
  return stringify(properties) ?? '';
}

function isUntouched(text: string, given: Given, label: string): boolean {
  if (isAsItCame(text, given)) return true;
  // Written again, long numbers would lose digits: if nothing else differs, the event stays unchanged.
  if (text.length > lengthAsItCame(given) || !matches(longNumber, given.text)) return false;
  return finalText(parse(given.text) as Record<string, unknown>, given, label) === text;
}
