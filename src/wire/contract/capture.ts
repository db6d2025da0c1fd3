import type { WarningType } from './warnings.ts';

/**
 * An event that was not taken. In `rejected` of an answer 200 the others were; in `errors` of an answer 400 or 413 nothing
 * was. A fault has the same code in both, which is also that of its dead letter and its ingestion warning.
 */
export interface RejectedEvent {
  /** Position in the batch, from 0. */
  readonly index: number;
  readonly code: WarningType;
  /** What was expected and what came. */
  readonly detail: string;
  /** The field at fault, e.g. `batch[3].distinct_id`; null when it is the event as a whole. */
  readonly attr: string | null;
}

/** Answer to a request that was taken: every event but the rejected ones is durable. */
export interface CaptureAnswer {
  readonly status: 'Ok';
  readonly rejected?: readonly RejectedEvent[];
  /** How many were rejected, when `rejected` does not list them all. */
  readonly rejected_total?: number;
}

/** Rejected events and errors listed in one answer. */
export const listedRejectionsMax = 1000;

/** Paths that take events; each also answers with a trailing slash. Libraries send `$ai_…` events to the last one. */
export const capturePaths = ['/batch', '/i/v0/e', '/e', '/track', '/engage', '/capture', '/i/v0/ai/batch'] as const;

export const captureV1Path = '/i/v1/analytics/events';

/** Results of the v1 endpoint, by uuid of the event. */
export interface CaptureV1Result {
  readonly result: 'ok' | 'drop' | 'warning' | 'retry';
  readonly details?: string;
}
export interface CaptureV1Answer {
  readonly results: Readonly<Record<string, CaptureV1Result>>;
}

export const captureV1Errors = {
  missing_required_headers: 400,
  invalid_header_value: 400,
  empty_body: 400,
  empty_batch: 400,
  invalid_batch: 400,
  missing_event_uuid: 400,
  invalid_event_uuid: 400,
  duplicate_event_uuid: 400,
  request_parsing_error: 400,
  invalid_api_token: 401,
  request_timeout: 408,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal_error: 500,
  service_unavailable: 503,
} as const;
export type CaptureV1ErrorTag = keyof typeof captureV1Errors;

export interface CaptureV1Error {
  readonly error: CaptureV1ErrorTag;
  readonly error_description: string;
  readonly error_uri: string;
}
