import { listedRejectionsMax, type CaptureAnswer, type RejectedEvent } from '../contract/capture.ts';
import { ApiError, type ApiErrorCode } from '../contract/errors.ts';
import type { WarningType } from '../contract/warnings.ts';
import type { Lane } from '../../log/eventlog.ts';
import type { Metrics } from '../../server/telemetry/metrics.ts';
import type { ScannedBatch } from '../batch/scanned-batch.ts';
import type { Refusal } from '../batch/validate.ts';

/** The events of a request that cannot be taken. A hostile body may hold half a million: only the first are listed. */
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

/** `batch[3].distinct_id`, `[3].distinct_id`, `distinct_id`: where the field is in the body. */
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

/** Why nothing of a request was taken; lists the offending events. There is at least one, of `events` in the request. */
export function requestRefused({ listed, byCode, total }: Rejections, events: number, strict: boolean): ApiError {
  const [first] = listed;
  const allTooLarge = byCode.get('event_too_large') === total;
  const code: ApiErrorCode = allTooLarge ? 'request_too_large' : errorCodeOf(first?.code ?? 'invalid_event');
  const expected = strict ? 'only valid events, as Prefer: handling=strict asks' : 'at least one valid event';
  const head = `expected ${expected}, got: ${total} of ${events} not valid, nothing was taken`;
  const prefix = allTooLarge ? 'maximum event size exceeded: ' : '';
  const reason = events === 1 ? String(first?.detail) : `${head}; the first: ${first?.attr}: ${first?.detail}`;
  return new ApiError(code, prefix + reason, { attr: first?.attr ?? null, errors: listed });
}

/** The headline is one of the API's errors, for clients that know only those. */
function errorCodeOf(warning: WarningType): ApiErrorCode {
  if (warning === 'missing_event_name' || warning === 'missing_distinct_id') return 'required';
  if (warning === 'event_name_too_long') return 'max_length';
  if (warning === 'event_too_large') return 'request_too_large';
  return 'invalid_input';
}

/**
 * The log keeps rejected events of a request that was taken; the pipeline makes dead letters of them and counts the
 * ingestion warnings. Here is what capture itself did not let through.
 */
export function countRejected(metrics: Metrics, lane: Lane, byCode: ReadonlyMap<string, number>): void {
  for (const [reason, count] of byCode) {
    const labels = { component: 'capture', lane, reason, intentional: 'false' };
    metrics.count('millrace_component_discarded_events_total', labels, count);
  }
}
