import { SandboxError, type EventOutcome, type SandboxEvent } from '../sandbox.ts';
import { toSandboxError } from './errors.ts';

/**
 * The results of events, as one string from an isolate: a line of JSON, an array of
 *
 *     [index, 0]   unchanged
 *     [index, 1]   dropped
 *     [index, 2, length, movedTeam, uuid, event, distinctId, timestamp]   changed; 0 in place of text means unchanged
 *     [index, 3, WireError]   failed
 *
 * then the JSON texts of the changed properties, one after the other. It was written in the isolate, next to a plugin that may
 * have tampered with it: everything is checked.
 */
const textLengthMax = 8 * 1024 * 1024;
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Fills in missing outcomes. @throws SandboxError of kind `result` if the text cannot be parsed */
export function decodeResults(
  text: string,
  events: readonly SandboxEvent[],
  outcomes: (EventOutcome | undefined)[],
): void {
  const headEnd = text.indexOf('\n');
  const entries = parseHead(text.slice(0, headEnd));
  let at = headEnd + 1;
  for (const entry of entries) {
    if (!Array.isArray(entry)) throw tampered('an entry that is not an array');
    const index: unknown = entry[0];
    const event = typeof index === 'number' ? events[index] : undefined;
    if (typeof index !== 'number' || event === undefined || outcomes[index] !== undefined) {
      throw tampered('the result of an event that was not requested');
    }
    const length: unknown = entry[1] === 2 ? entry[2] : 0;
    if (typeof length !== 'number' || !Number.isInteger(length) || length < 0 || at + length > text.length) {
      throw tampered('a length beyond the end');
    }
    outcomes[index] = decodeEntry(entry, event, text.slice(at, at + length));
    at += length;
  }
}

function parseHead(line: string): unknown[] {
  try {
    const head: unknown = JSON.parse(line);
    if (Array.isArray(head)) return head;
  } catch (error) {
    throw tampered('a head that is not JSON', error);
  }
  throw tampered('a head that is not an array');
}

function decodeEntry(entry: readonly unknown[], event: SandboxEvent, propertiesText: string): EventOutcome {
  if (entry[1] === 0) return { kind: 'unchanged' };
  if (entry[1] === 1) return { kind: 'dropped' };
  if (entry[1] === 3) return { kind: 'failed', error: toSandboxError(entry[2]) };
  if (entry[1] !== 2) throw tampered('an unknown kind of result');
  if (propertiesText.length > textLengthMax) {
    return {
      kind: 'failed',
      error: new SandboxError(
        'result',
        `expected an event of at most ${textLengthMax} characters, got ${propertiesText.length}; put less into it`,
        { method: 'processEvent' },
      ),
    };
  }
  if (!propertiesText.startsWith('{') || !propertiesText.endsWith('}'))
    throw tampered('properties that are not an object');
  const uuid = textOr(entry[4], event.uuid);
  const timestamp = textOr(entry[7], event.timestamp);
  if (entry[4] !== 0 && !uuidForm.test(uuid)) throw tampered('an invalid uuid');
  if (entry[7] !== 0 && Number.isNaN(Date.parse(timestamp))) throw tampered('an invalid time');
  return {
    kind: 'changed',
    uuid,
    event: textOr(entry[5], event.event),
    distinctId: textOr(entry[6], event.distinctId),
    timestamp,
    propertiesText,
    movedTeam: entry[3] === 1,
  };
}

function textOr(value: unknown, before: string): string {
  if (value === 0) return before;
  if (typeof value === 'string' && value !== '') return value;
  throw tampered('an empty field');
}

function tampered(got: string, cause?: unknown): SandboxError {
  const error = new SandboxError(
    'result',
    `expected the results of the events, got ${got}; the plugin damaged its environment`,
    {
      method: 'processEvent',
    },
  );
  if (cause !== undefined) error.cause = cause;
  return error;
}
