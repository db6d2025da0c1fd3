import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { parseExactValues } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import type { MessageType } from '../contract/segment.ts';
import type { WireEvent } from '../contract/wire-event.ts';
import { scanProblems, span, spanStride, type ScannedBatch } from '../batch/scanned-batch.ts';
import { fieldFrom, fieldTo } from '../batch/spans.ts';
import { validateEvent, type Refusal } from '../batch/validate.ts';

/** Converts a message to events; the import format of Segment's archives does. It skips a message that it has read before. */
export type MessageReader = (message: unknown) => MessageResult;
/** An event without a timestamp happened when it was received. */
export type MessageEvent = Omit<WireEvent, 'timestamp'> & Partial<Pick<WireEvent, 'timestamp'>>;
export type MessageResult =
  | { readonly kind: 'events'; readonly events: readonly MessageEvent[] }
  | { readonly kind: 'skipped' }
  | { readonly kind: 'unreadable'; readonly reason: string };

type Message = Readonly<Record<string, unknown>>;

/** What a request says about all of its messages. */
export interface MessageRequest {
  /** The type that the path implies. */
  readonly type: MessageType | undefined;
  /** `context` of the batch, the default of its messages. */
  readonly context: unknown;
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

/** Messages between two turns of the event loop: some milliseconds of work. */
const messagesPerTurn = 200;

/** Converts the messages of a body to the batch that the log keeps. Other requests are served meanwhile. */
export async function convertMessages(
  scan: ScannedBatch,
  read: MessageReader,
  request: MessageRequest,
): Promise<ConvertedMessages> {
  const elements: Buffer[] = [];
  const messageOf: number[] = [];
  const refused = new Map<number, Refusal>();
  const add = (index: number, json: Buffer): void => {
    elements.push(json);
    messageOf.push(index);
  };
  for (let index = 0; index < scan.count; index += 1) {
    if (index % messagesPerTurn === messagesPerTurn - 1) await setImmediate();
    const original = scan.json.subarray(fieldFrom(scan, index, 'event'), fieldTo(scan, index, 'event'));
    const result = problemOf(scan, index, request) ?? readMessage(read, parse(original), scan, request);
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
 * Converts a message. The event keeps the time that the client sent, also if its clock is wrong: its identity must not depend on
 * the correction, which the pipeline makes. An event without a time gets that of its receipt, as on `/batch/`.
 */
function readMessage(
  read: MessageReader,
  message: unknown,
  scan: ScannedBatch,
  request: MessageRequest,
): MessageResult {
  if (!isObject(message)) return read(message);
  const { timestamp, originalTimestamp, sentAt: _, receivedAt: _received, ...rest } = message as Message;
  const time = timestamp ?? originalTimestamp;
  const result = read({
    ...(request.type === undefined ? {} : { type: request.type }),
    ...rest,
    ...(hasId(rest) || scan.historicalMigration ? {} : { messageId: randomUUID() }),
    timestamp: time ?? new Date(request.receivedAt).toISOString(),
    context: contextOf(rest, request),
  });
  if (time !== undefined || result.kind !== 'events') return result;
  return { kind: 'events', events: result.events.map(({ timestamp: _time, ...event }) => event) };
}

/** Live messages without an id are all different, as on `/batch/`; historical ones get an id of their content. */
function hasId({ messageId }: Message): boolean {
  return messageId !== undefined && messageId !== null && messageId !== '';
}

function contextOf(message: Message, { context: ofBatch, ip }: MessageRequest): Message {
  const context = { ...membersOf(ofBatch), ...membersOf(message['context']) };
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
