import { listedRejectionsMax, type RejectedEvent } from '../contract/capture.ts';
import { ApiError, type ApiErrorCode, type FieldError } from '../contract/errors.ts';
import type { WarningType } from '../contract/warnings.ts';
import type { ScannedBatch } from './scanned-batch.ts';
import type { Refusal } from './validate.ts';

/** The refusal of one event, placed in its body: `batch[3].distinct_id`, `[3].distinct_id`, `distinct_id`. */
export function rejectedEvent(root: ScannedBatch['root'], index: number, refusal: Refusal): RejectedEvent {
  return { index, code: refusal.code, detail: refusal.detail, attr: placeOf(root, index, refusal.attr) };
}

function placeOf(root: ScannedBatch['root'], index: number, attr: string | null): string | null {
  if (root === 'single') return attr;
  const event = root === 'batch' ? `batch[${index}]` : `[${index}]`;
  return attr === null ? event : `${event}.${attr}`;
}

/** Why nothing of a request was taken; lists every offending event (up to a bound). `rejected` holds at least one. */
export function requestRefused(rejected: readonly RejectedEvent[], total: number, strict: boolean): ApiError {
  const [first] = rejected;
  const allTooLarge = rejected.every((each) => each.code === 'event_too_large');
  const code: ApiErrorCode = allTooLarge ? 'request_too_large' : errorCodeOf(first?.code ?? 'invalid_event');
  const errors = rejected
    .slice(0, listedRejectionsMax)
    .map((each): FieldError => ({ code: errorCodeOf(each.code), detail: each.detail, attr: each.attr }));
  const expected = strict ? 'only valid events, as Prefer: handling=strict asks' : 'at least one valid event';
  const head = `expected ${expected}, got: ${rejected.length} of ${total} not valid, nothing was taken`;
  const prefix = allTooLarge ? 'maximum event size exceeded: ' : '';
  const detail =
    total === 1 ? `${prefix}${first?.detail}` : `${prefix}${head}; the first: ${first?.attr}: ${first?.detail}`;
  return new ApiError(code, detail, { attr: first?.attr ?? null, errors });
}

function errorCodeOf(warning: WarningType): ApiErrorCode {
  if (warning === 'missing_event_name' || warning === 'missing_distinct_id') return 'required';
  if (warning === 'event_name_too_long') return 'max_length';
  if (warning === 'event_too_large') return 'request_too_large';
  return 'invalid_input';
}
