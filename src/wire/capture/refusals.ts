import { listedRejectionsMax, type CaptureAnswer, type RejectedEvent } from '../contract/capture.ts';
import { ApiError, type ApiErrorCode } from '../contract/errors.ts';
import type { WarningType } from '../contract/warnings.ts';
import type { Lane } from '../../log/eventlog.ts';
import type { Metrics } from '../../server/telemetry/metrics.ts';
import type { ScannedBatch } from '../batch/scanned-batch.ts';
import type { Refusal } from '../batch/validate.ts';

/** Rejected events of a request. A hostile body may contain half a million, so only the first are listed. */
export interface Rejections {
  readonly listed: RejectedEvent[];
  readonly byCode: Map<WarningType, number>;
  total: number;
}

export function noRejections(): Rejections {
  return { listed: [], byCode: new Map(), total: 0 };
}

export function reject(rejections: Rejections, root: ScannedBatch['root'], index: number, refusal: Refusal): void {
  const { code, detail, attr } = refusal;
  rejections.total++;
  rejections.byCode.set(code, (rejections.byCode.get(code) ?? 0) + 1);
  if (rejections.listed.length === listedRejectionsMax) return;
  rejections.listed.push({ index, code, detail, attr: placeOf(root, index, attr) });
}

/** Returns the path of a field in the body: `batch[3].distinct_id`, `[3].distinct_id` or `distinct_id`. */
function placeOf(root: ScannedBatch['root'], index: number, attr: string | null): string | null {
  if (root === 'single') return attr;
  const event = root === 'batch' ? `batch[${index}]` : `[${index}]`;
  return attr === null ? event : `${event}.${attr}`;
}

export function answerFor({ listed, total }: Rejections): CaptureAnswer {
  if (total === 0) return { status: 'Ok' };
  const answer = { status: 'Ok', rejected: listed } as const;
  return total === listed.length ? answer : { ...answer, rejected_total: total };
}

/** Creates the error for a request of which nothing was accepted, with its rejected events: at least one of `events`. */
export function requestRefused({ listed, byCode, total }: Rejections, events: number, strict: boolean): ApiError {
  const [first] = listed;
  const allTooLarge = byCode.get('event_too_large') === total;
  const code: ApiErrorCode = allTooLarge ? 'request_too_large' : errorCodeOf(first?.code ?? 'invalid_event');
  const expected = strict ? 'only valid events, as Prefer: handling=strict requires' : 'at least one valid event';
  const head = `expected ${expected}, got: ${total} of ${events} not valid, nothing was stored`;
  const prefix = allTooLarge ? 'maximum event size exceeded: ' : '';
  const reason = events === 1 ? String(first?.detail) : `${head}; the first: ${first?.attr}: ${first?.detail}`;
  return new ApiError(code, prefix + reason, { attr: first?.attr ?? null, errors: listed });
}

/** Maps a warning to an error code of the API, for clients that know only those. */
function errorCodeOf(warning: WarningType): ApiErrorCode {
  if (warning === 'missing_event_name' || warning === 'missing_distinct_id') return 'required';
  if (warning === 'event_name_too_long') return 'max_length';
  if (warning === 'event_too_large') return 'request_too_large';
  return 'invalid_input';
}

/**
 * Counts rejected events. The log keeps those of an accepted request, where the pipeline turns them into dead letters and
 * ingestion warnings.
 */
export function countRejected(metrics: Metrics, lane: Lane, byCode: ReadonlyMap<string, number>): void {
  for (const [reason, count] of byCode) {
    const labels = { component: 'capture', lane, reason, intentional: 'false' };
    metrics.count('millrace_component_discarded_events_total', labels, count);
  }
}
