import { scanLimits, type ScanLimits } from '../batch/limits.ts';
import type { IncomingHttpHeaders } from 'node:http';
import type { CaptureV1Answer, CaptureV1Result } from '../contract/capture.ts';
import type { Lane } from '../../log/eventlog.ts';
import { isTooLarge, otherEncodings, type InflateEncoding } from './inflate-encoding.ts';
import type { ScannedBatch } from '../batch/scanned-batch.ts';
import { BodySyntaxError } from '../batch/json-syntax.ts';
import { scanBatch } from '../batch/scan.ts';
import { rootOf } from '../batch/root-of.ts';
import { countRejected } from './refusals.ts';
import { storeBatch, type CaptureDeps } from './take-request.ts';
import { parseTimestamp } from '../batch/timestamps.ts';
import { validateEvent } from '../batch/validate.ts';
import { V1Error } from './v1-error.ts';
import { convertV1Events, v0Batch, type ConvertedEvent } from './v1-events.ts';
import { rfc3339, type V1Headers } from './v1-headers.ts';

export interface CaptureV1Deps extends CaptureDeps {
  /** Created by `createEncodingInflater`. */
  readonly inflate: InflateEncoding;
}

export interface V1Request {
  readonly body: Buffer;
  /** As in CaptureRequest. */
  readonly hold: (bytes: number) => void;
  readonly contentEncoding: IncomingHttpHeaders['content-encoding'];
  readonly headers: V1Headers;
  readonly ip: string | undefined;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly receivedAt: number;
  /** As in CaptureRequest. */
  readonly completeAt: number;
}

/**
 * Takes a v1 request like `takeRequest`, with a result per event. It converts the batch to the older form, the only one that
 * the log and the pipeline know. Throws V1Error or ApiError if nothing was stored.
 */
export async function takeV1(deps: CaptureV1Deps, request: V1Request): Promise<CaptureV1Answer> {
  const { headers, receivedAt, requestId, ip, traceparent } = request;
  const projectId = await deps.projects.projectOf(headers.token);
  const limits = scanLimits(deps.settings.captureEventBytesMax);
  const json = await decodeV1(deps, request);
  // The converted batch for the log is a second copy.
  request.hold(2 * json.length);
  const scan = readV1(json, limits);
  const events = convertV1Events(scan, headers.sdk);
  const body = v0Batch(headers, events, scan.historicalMigration);
  const converted = scanBatch(body, limits);
  const lane: Lane = scan.historicalMigration ? 'historical' : 'live';
  const results: [string, CaptureV1Result][] = [];
  let good = 0;
  const dropped = new Map<string, number>();
  for (const [i, event] of events.entries()) {
    const verdict = event.drop === undefined ? validateEvent(converted, i, lane, receivedAt) : undefined;
    const drop = event.drop ?? (verdict?.ok === false ? verdict.code : undefined);
    if (drop !== undefined) dropped.set(drop, (dropped.get(drop) ?? 0) + 1);
    else good++;
    results.push([event.uuid, resultOf(drop, event)]);
  }
  if (good > 0) {
    const batch = { lane, projectId, body, encoding: 'identity', events: good, receivedAt, requestId } as const;
    const optional = { ...(ip === undefined ? {} : { ip }), ...(traceparent && { traceparent }) };
    await storeBatch(deps, { ...batch, sentAt: headers.sentAt, ...optional }, request.completeAt);
  }
  countRejected(deps.metrics, lane, dropped);
  return { results: Object.fromEntries(results) };
}

function resultOf(drop: string | undefined, event: ConvertedEvent): CaptureV1Result {
  if (drop !== undefined) return { result: 'drop', details: drop };
  return event.details === undefined ? { result: 'ok' } : { result: 'ok', details: event.details };
}

async function decodeV1(deps: CaptureV1Deps, { body, contentEncoding }: V1Request): Promise<Buffer> {
  const { settings, gunzip, inflate } = deps;
  const inflatedBytesMax = settings.captureInflatedBytesMax;
  if (body.length === 0) throw new V1Error('empty_body', 'expected a JSON body, got: none');
  const encoding = contentEncoding?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return body;
  if (encoding === 'gzip') return gunzip(body, { inflatedBytesMax });
  const other = otherEncodings.find((each) => each === encoding);
  if (other === undefined) {
    const known = ['gzip', ...otherEncodings].join(', ');
    throw new V1Error('unsupported_media_type', `expected Content-Encoding ${known} or none, got: ${encoding}`);
  }
  try {
    return await inflate(body, other, { inflatedBytesMax });
  } catch (cause) {
    if (isTooLarge(cause)) {
      throw new V1Error('payload_too_large', `expected at most ${inflatedBytesMax} bytes of JSON, got: more`);
    }
    throw new V1Error('request_parsing_error', `expected a body in ${encoding}, got: ${(cause as Error).message}`);
  }
}

function readV1(json: Buffer, limits: ScanLimits): ScannedBatch {
  const scan = scanV1(json, limits);
  const createdAt = rootOf(scan)['created_at'];
  const isTime = typeof createdAt === 'string' && rfc3339.test(createdAt) && parseTimestamp(createdAt) !== undefined;
  if (!isTime) throw new V1Error('invalid_batch', 'expected "created_at" to be an RFC 3339 time, got: something else');
  if (scan.count === 0) throw new V1Error('empty_batch', 'expected at least one event in "batch", got: none');
  return scan;
}

function scanV1(json: Buffer, limits: ScanLimits): ScannedBatch {
  try {
    const scan = scanBatch(json, limits);
    if (scan.root === 'batch') return scan;
  } catch (error) {
    if (!(error instanceof BodySyntaxError)) throw error;
    const tag = error.code === 'request_too_large' ? 'payload_too_large' : 'request_parsing_error';
    throw new V1Error(tag, error.message);
  }
  throw new V1Error('request_parsing_error', 'expected an object with "created_at" and "batch", got: something else');
}
