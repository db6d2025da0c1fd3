import type { Lane } from '../../log/eventlog.ts';
import { scanLimits } from '../batch/limits.ts';
import { rootOf } from '../batch/root-of.ts';
import { scanBatch } from '../batch/scan.ts';
import type { ScannedBatch } from '../batch/scanned-batch.ts';
import { fieldFrom, fieldTo } from '../batch/spans.ts';
import { parseTimestamp } from '../batch/timestamps.ts';
import { objectIn } from '../../base/json.ts';
import { validateEvent } from '../batch/validate.ts';
import { ApiError } from '../contract/errors.ts';
import type { MessageType, SegmentAnswer } from '../contract/segment.ts';
import { decodeBody, type BodyHints } from './decode.ts';
import { requireKnownKey } from './project-key.ts';
import { answerFor, countRejected, noRejections, reject, requestRefused, type Rejections } from './refusals.ts';
import { keyOfBody } from './segment-key.ts';
import { convertMessages, type ConvertedMessages, type MessageReader } from './segment-messages.ts';
import { scanBody, storeBatch, type CaptureDeps } from './take-request.ts';

export interface SegmentDeps extends CaptureDeps {
  /** Creates the reader of a request, which skips messages that the request repeats. */
  readonly createMessageReader: () => MessageReader;
}

export interface SegmentRequest {
  readonly body: Buffer;
  readonly hints: BodyHints;
  /** As in CaptureRequest. */
  readonly hold: (bytes: number) => void;
  /** The type of message that the path implies. */
  readonly type: MessageType | undefined;
  /** The write key outside of the body. */
  readonly key: string | undefined;
  readonly ip: string | undefined;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly receivedAt: number;
  /** As in CaptureRequest. */
  readonly completeAt: number;
}

/**
 * Takes messages of the Segment protocol like `takeRequest`. It converts them to the form of `/batch/`, the only one that the log
 * and the pipeline know, as an import of their archive does: a message that is also imported has the same uuid. Throws ApiError
 * if nothing was stored.
 */
export async function takeSegment(deps: SegmentDeps, request: SegmentRequest): Promise<SegmentAnswer> {
  const { projects, settings } = deps;
  const { receivedAt, requestId, ip, traceparent, type, key } = request;
  const known = key === undefined ? undefined : await projects.projectOf(key);
  const json = await decode(deps, request);
  if (known === undefined) await requireKnownKey(json, projects);
  const scan = scanBody(json, settings);
  if (scan.count === 0)
    throw new ApiError('invalid_input', 'expected at least one message, got: none', { attr: 'batch' });
  const root = scan.root === 'batch' ? rootOf(scan) : {};
  const projectId = known ?? (await projects.projectOf(keyOfBody(root['writeKey'] ?? firstOf(scan)['writeKey'])));
  // Converted events repeat the messages, and may be larger.
  request.hold(2 * json.length);
  const { context } = root;
  const converted = await convertMessages(scan, deps.createMessageReader(), { type, context, ip, receivedAt });
  const lane: Lane = scan.historicalMigration ? 'historical' : 'live';
  const { rejections, good } = validate(scan, converted, {
    lane,
    receivedAt,
    eventBytesMax: settings.captureEventBytesMax,
  });
  countRejected(deps.metrics, lane, rejections.byCode);
  if (good === 0 && rejections.total > 0) throw requestRefused(rejections, scan.count, false);
  if (good > 0) {
    const { body } = converted;
    const batch = { lane, projectId, body, encoding: 'identity', events: good, receivedAt, requestId } as const;
    const sentAt = sentAtOf(root, firstOf(scan));
    const optional = { ...(sentAt === undefined ? {} : { sentAt }), ...(traceparent && { traceparent }) };
    await storeBatch(deps, { ...batch, ...optional }, request.completeAt);
  }
  const { status: _, ...rejected } = answerFor(rejections);
  return { success: true, ...rejected };
}

async function decode({ settings, gunzip }: SegmentDeps, { body, hints, hold }: SegmentRequest): Promise<Buffer> {
  const { json } = await decodeBody(body, hints, { inflatedBytesMax: settings.captureInflatedBytesMax }, gunzip);
  if (json !== body) hold(json.length);
  return json;
}

/** Parses the first message, which may contain what applies to the request: the key and the time of sending. */
function firstOf(scan: ScannedBatch): Members {
  return objectIn(scan.json.toString('utf8', fieldFrom(scan, 0, 'event'), fieldTo(scan, 0, 'event'))) ?? {};
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Returns when the client claims to have sent the body, in ms since the epoch. An unreadable value is ignored, and so is that of a
 * message which Segment or RudderStack received and forwarded: its time is corrected already.
 */
function sentAtOf(root: Members, first: Members): number | undefined {
  const value = first['receivedAt'] === undefined ? (root['sentAt'] ?? first['sentAt']) : undefined;
  const micros = typeof value === 'string' ? parseTimestamp(value) : undefined;
  return micros === undefined ? undefined : Math.round(micros / 1000);
}

interface ValidateOptions {
  readonly lane: Lane;
  readonly receivedAt: number;
  readonly eventBytesMax: number;
}

/** Checks the converted events as those of `/batch/`. Rejections refer to messages; `good` counts events. */
function validate(
  { root }: ScannedBatch,
  { body, messageOf, refused }: ConvertedMessages,
  { lane, receivedAt, eventBytesMax }: ValidateOptions,
): { readonly rejections: Rejections; readonly good: number } {
  const rejections = noRejections();
  let good = 0;
  const converted = scanBatch(body, scanLimits(eventBytesMax));
  for (const [at, index] of messageOf.entries()) {
    const verdict = refused.get(index) ?? validateEvent(converted, at, lane, receivedAt);
    if (verdict.ok) good += 1;
    else reject(rejections, root, index, { ...verdict, attr: null });
  }
  return { rejections, good };
}
