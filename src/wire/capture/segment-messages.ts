import { parseExactValues } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import type { MessageType } from '../contract/segment.ts';
import type { WireEvent } from '../contract/wire-event.ts';
import { scanProblems, span, spanStride, type ScannedBatch } from '../batch/scanned-batch.ts';
import { fieldFrom, fieldTo } from '../batch/spans.ts';
import { validateEvent, type Refusal } from '../batch/validate.ts';

/** Converts a message to events; the import format of Segment's archives does. It skips a message that it has read before. */
export type MessageReader = (message: unknown) => MessageResult;
export type MessageResult =
  | { readonly kind: 'events'; readonly events: readonly WireEvent[] }
  | { readonly kind: 'skipped' }
  | { readonly kind: 'unreadable'; readonly reason: string };

type Message = Readonly<Record<string, unknown>>;

/** What a request says about all of its messages. */
export interface MessageRequest {
  /** The type that the path implies. */
  readonly type: MessageType | undefined;
  /** Members of the batch object; empty for a single message. */
  readonly root: Message;
  readonly ip: string | undefined;
  /** ms since the epoch. */
  readonly receivedAt: number;
}

/** Messages converted to a batch. Refused ones are elements that can only become dead letters, with the original. */
export interface ConvertedMessages {
  readonly body: Buffer;
  /** Index of the message of each element. */
  readonly messageOf: readonly number[];
  /** Refused messages by index, in order. */
  readonly refused: ReadonlyMap<number, Refusal>;
}

/** Converts the messages of a body to the batch that the log keeps. */
export function convertMessages(scan: ScannedBatch, read: MessageReader, request: MessageRequest): ConvertedMessages {
  const elements: Buffer[] = [];
  const messageOf: number[] = [];
  const refused = new Map<number, Refusal>();
  const add = (index: number, json: Buffer): void => {
    elements.push(json);
    messageOf.push(index);
  };
  for (let index = 0; index < scan.count; index += 1) {
    const original = scan.json.subarray(fieldFrom(scan, index, 'event'), fieldTo(scan, index, 'event'));
    const result = problemOf(scan, index, request) ?? read(asArchived(parse(original), request));
    if (result.kind === 'events') for (const event of result.events) add(index, Buffer.from(JSON.stringify(event)));
    else if (result.kind !== 'skipped') {
      const refusal = result.kind === 'refused' ? result.refusal : unreadable(result.reason);
      refused.set(index, refusal);
      add(index, Buffer.concat([Buffer.from(`[${JSON.stringify(refusal.detail)},`), original, Buffer.from(']')]));
    }
  }
  return { body: batchOf(elements, scan.historicalMigration), messageOf, refused };
}

function parse(original: Buffer): unknown {
  return parseExactValues(original.toString());
}

type Problem = { readonly kind: 'refused'; readonly refusal: Refusal } | undefined;

/** Checks size and depth, so that parsing is safe. */
function problemOf(scan: ScannedBatch, index: number, { receivedAt }: MessageRequest): Problem {
  const problem = scanProblems[(scan.spans[index * spanStride + span.problem] ?? 0) - 1];
  if (problem === undefined) return undefined;
  const verdict = validateEvent(scan, index, 'live', receivedAt);
  return verdict.ok ? undefined : { kind: 'refused', refusal: verdict };
}

function unreadable(reason: string): Refusal {
  return { ok: false, code: 'invalid_event', detail: reason, attr: null };
}

/**
 * Returns the message as its archive would have it: with the time of receipt, the sender's address and the defaults of its batch.
 * Segment's libraries send the time of the event as `timestamp`, which becomes `originalTimestamp`; if a message has both
 * (RudderStack), `timestamp` was set by the caller and stays.
 */
function asArchived(message: unknown, request: MessageRequest): unknown {
  if (!isObject(message)) return message;
  const { root, type, receivedAt } = request;
  const { timestamp, originalTimestamp, ...rest } = message as Message;
  return {
    ...(type === undefined ? {} : { type }),
    ...rest,
    ...(originalTimestamp === undefined ? { originalTimestamp: timestamp } : { timestamp, originalTimestamp }),
    sentAt: rest['sentAt'] ?? root['sentAt'],
    receivedAt: new Date(receivedAt).toISOString(),
    context: contextOf(rest, request),
  };
}

function contextOf(message: Message, { root, ip }: MessageRequest): Message {
  const context = { ...membersOf(root['context']), ...membersOf(message['context']) };
  return ip !== undefined && context['ip'] === undefined && isFromDevice(message, context)
    ? { ...context, ip }
    : context;
}

/** Whether the sender is the visitor's browser or app. The address of a server says nothing about a person. */
function isFromDevice({ channel }: Message, context: Message): boolean {
  if (typeof channel === 'string') return deviceChannels.has(channel);
  return context['userAgent'] !== undefined || isObject(context['device']);
}

/** As Segment and RudderStack name them; `server` is another. */
const deviceChannels: ReadonlySet<string> = new Set(['browser', 'client', 'mobile', 'web']);

function membersOf(value: unknown): Message {
  return isObject(value) ? (value as Message) : {};
}

function batchOf(elements: readonly Buffer[], isHistorical: boolean): Buffer {
  const parts: Buffer[] = [Buffer.from(`{"historical_migration":${isHistorical},"batch":[`)];
  for (const [at, element] of elements.entries()) {
    if (at > 0) parts.push(comma);
    parts.push(element);
  }
  parts.push(Buffer.from(']}'));
  return Buffer.concat(parts);
}

const comma = Buffer.from(',');
