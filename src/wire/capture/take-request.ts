import type { Clock } from '../../base/clock.ts';
import { freeMemory } from '../../base/free-memory.ts';
import type { Settings } from '../../server/config/settings.ts';
import type { CaptureAnswer } from '../contract/capture.ts';
import { ApiError } from '../contract/errors.ts';
import type { Lane } from '../../log/eventlog.ts';
import type { Metrics } from '../../server/telemetry/metrics.ts';
import type { AcceptedBatch, Ingest } from '../batch/ingest.ts';
import type { Agreements } from './agreements.ts';
import { decodeBody, type BodyHints, type DecodedBody } from './decode.ts';
import type { Gunzip } from './gunzip.ts';
import { requireKnownKey, tokenOf, type ProjectKeys } from './project-key.ts';
import { answerFor, countRejected, noRejections, reject, requestRefused, type Rejections } from './refusals.ts';
import { asIdentify, isNameless, withoutEvents } from '../batch/rewrite.ts';
import { BodySyntaxError } from '../batch/json-syntax.ts';
import { scanLimits } from '../batch/limits.ts';
import { scanBatch } from '../batch/scan.ts';
import type { ScannedBatch } from '../batch/scanned-batch.ts';
import { fieldFrom, fieldTo } from '../batch/spans.ts';
import { parseTimestamp } from '../batch/timestamps.ts';
import { validateEvent } from '../batch/validate.ts';

export interface CaptureDeps {
  readonly ingest: Ingest;
  readonly projects: ProjectKeys;
  readonly agreements: Agreements;
  readonly settings: Settings;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Created by `createGunzipper`. */
  readonly gunzip: Gunzip;
}

/** A completely read request, independent of the HTTP framework. */
export interface CaptureRequest {
  readonly body: Buffer;
  readonly hints: BodyHints;
  /** Counts additional bytes that this request keeps in memory. Throws ApiError 503 if the budget is exhausted. */
  readonly hold: (bytes: number) => void;
  /** `_` or `sent_at` of the query. */
  readonly querySentAt: string | undefined;
  /** On paths that start with /engage, an object without an event name is an `$identify`. */
  readonly isEngage: boolean;
  /** `Prefer: handling=strict`: all or nothing. */
  readonly strict: boolean;
  readonly ip: string | undefined;
  readonly requestId: string;
  /** Header of W3C Trace Context, as sent. */
  readonly traceparent: string | undefined;
  /** When the body was complete, ms since the epoch. */
  readonly receivedAt: number;
  /** The same moment on the monotonic clock (performance.now), for measuring the response time. */
  readonly completeAt: number;
}

/**
 * Takes a request from its bytes to the durable log. Throws ApiError if nothing was stored. When it resolves, every event
 * that was not rejected is durable.
 */
export async function takeRequest(deps: CaptureDeps, request: CaptureRequest): Promise<CaptureAnswer> {
  const { decoded, scan } = await readEvents(deps, request);
  const projectId = await deps.projects.projectOf(tokenOf(scan));
  const sentAt = sentAtOf(scan.sentAt, request.querySentAt);
  const { receivedAt, requestId, ip, traceparent } = request;
  const lane: Lane = scan.historicalMigration ? 'historical' : 'live';
  const filtered = performanceEvents(scan);
  if (filtered === scan.count) return { status: 'Ok' };
  const rejected = validateAll(scan, lane, receivedAt);
  const good = scan.count - filtered - rejected.total;
  countRejected(deps.metrics, lane, rejected.byCode);
  if (rejected.total > 0 && (good === 0 || request.strict)) {
    throw requestRefused(rejected, scan.count - filtered, request.strict);
  }
  const kept: DecodedBody = filtered === 0 ? decoded : withoutPerformance(scan);
  // Otherwise the log keeps other bytes than those scanned, or takes their memory.
  const isAsScanned = kept === decoded && kept.encoding === 'gzip';
  const batch: AcceptedBatch = {
    lane,
    projectId,
    body: kept.body,
    encoding: kept.encoding,
    events: good,
    receivedAt,
    requestId,
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(ip === undefined ? {} : { ip }),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(isAsScanned ? { scan } : {}),
  };
  await storeBatch(deps, batch, request.completeAt);
  // The log may still be writing the body, but the unpacked JSON is not read again.
  if (batch.body.buffer !== scan.json.buffer) freeMemory(scan.json);
  freeMemory(scan.spans);
  return answerFor(rejected);
}

/** Makes a batch durable if the agreement for historical imports admits it. */
export async function storeBatch(deps: CaptureDeps, batch: AcceptedBatch, completeAt: number): Promise<void> {
  const giveBack = batch.lane === 'historical' ? await deps.agreements.admit(batch.projectId, batch.events) : undefined;
  try {
    await deps.ingest.accept(batch);
  } catch (error) {
    giveBack?.();
    throw error;
  }
  const seconds = (performance.now() - completeAt) / 1000;
  deps.metrics.observe('millrace_ingest_ack_seconds', { lane: batch.lane }, seconds);
}

/** Decodes and scans the body. Throws 400 or 413 if it cannot be read. */
async function readEvents(
  { settings, gunzip, projects }: CaptureDeps,
  { body, hints, hold, isEngage }: CaptureRequest,
): Promise<{ decoded: DecodedBody; scan: ScannedBatch }> {
  const limits = { inflatedBytesMax: settings.captureInflatedBytesMax };
  let decoded = await decodeBody(body, hints, limits, gunzip);
  if (decoded.json !== body) hold(decoded.json.length);
  await requireKnownKey(decoded.json, projects).catch((error: unknown) => {
    // Tens of megabytes that are not read again would trigger a garbage collection.
    freeMemory(decoded.json);
    throw error;
  });
  let scan = scanBody(decoded.json, settings);
  if (isNameless(scan)) {
    if (!isEngage) {
      throw new ApiError(
        'required',
        'failed to hydrate events from request: non-engage request missing event name attribute; send "event", or "batch" with an array of events',
        { attr: 'event' },
      );
    }
    const json = asIdentify(scan);
    decoded = { json, body: json, encoding: 'identity' };
    scan = scanBody(json, settings);
  }
  if (scan.count === 0)
    throw new ApiError('invalid_input', 'expected at least one event, got: none', { attr: 'batch' });
  return { decoded, scan };
}

/** Calls `scanBatch` and converts its errors to errors for clients. */
export function scanBody(json: Buffer, settings: Settings): ScannedBatch {
  try {
    return scanBatch(json, scanLimits(settings.captureEventBytesMax));
  } catch (error) {
    if (!(error instanceof BodySyntaxError)) throw error;
    throw new ApiError(error.code, `failed to parse request: ${error.message}`);
  }
}

function validateAll(scan: ScannedBatch, lane: Lane, receivedAt: number): Rejections {
  const rejections = noRejections();
  for (let i = 0; i < scan.count; i++) {
    const verdict = validateEvent(scan, i, lane, receivedAt);
    if (!verdict.ok && !isPerformanceEvent(scan, i)) reject(rejections, scan.root, i, verdict);
  }
  return rejections;
}

const performanceName = Buffer.from('"$performance_event"');

/** Old browser libraries send thousands of these, which are not stored. */
function isPerformanceEvent(scan: ScannedBatch, index: number): boolean {
  const from = fieldFrom(scan, index, 'name');
  const to = fieldTo(scan, index, 'name');
  return to - from === performanceName.length && performanceName.compare(scan.json, from, to) === 0;
}

function performanceEvents(scan: ScannedBatch): number {
  let count = 0;
  for (let i = 0; i < scan.count; i++) if (isPerformanceEvent(scan, i)) count++;
  return count;
}

function withoutPerformance(scan: ScannedBatch): DecodedBody {
  const json = withoutEvents(scan, (index) => !isPerformanceEvent(scan, index));
  return { json, body: json, encoding: 'identity' };
}

/** Query values before this are seconds or garbage, not a time of sending. */
const sentAtMin = Date.UTC(2020, 0, 1);

/** Returns when the client claims to have sent the body, in ms since the epoch. An unreadable value is ignored. */
function sentAtOf(bodySentAt: string | undefined, querySentAt: string | undefined): number | undefined {
  const micros = bodySentAt === undefined ? undefined : parseTimestamp(bodySentAt);
  if (micros !== undefined) return Math.round(micros / 1000);
  if (querySentAt === undefined || !/^\d{1,15}$/.test(querySentAt)) return undefined;
  const ms = Number(querySentAt);
  return ms >= sentAtMin ? ms : undefined;
}
