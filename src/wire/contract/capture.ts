import type { WarningType } from './warnings.ts';

/**
 * An event that was rejected. In `rejected` of a 200 response, the other events were accepted; in `errors` of a 400 or 413
 * response, none was. The code is the same in both, in the dead letter and in the ingestion warning.
 */
export interface RejectedEvent {
  /** Position in the batch, from 0. */
  readonly index: number;
  readonly code: WarningType;
  /** What was expected and what was received. */
  readonly detail: string;
  /** The invalid field, e.g. `batch[3].distinct_id`. `null` means the event as a whole. */
  readonly attr: string | null;
}

/** Response to an accepted request: every event that is not rejected is durable. */
export interface CaptureAnswer {
  readonly status: 'Ok';
  readonly rejected?: readonly RejectedEvent[];
  /** Number of rejected events, when `rejected` does not list all of them. */
  readonly rejected_total?: number;
}

/** Maximum of rejected events and errors listed in one response. */
export const listedRejectionsMax = 1000;

/** Paths that accept events, with or without a trailing slash. Libraries send `$ai_…` events to the last one. */
export const capturePaths = ['/batch', '/i/v0/e', '/e', '/track', '/engage', '/capture', '/i/v0/ai/batch'] as const;

export const captureV1Path = '/i/v1/analytics/events';

/** Results of the v1 endpoint by event uuid. */
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
