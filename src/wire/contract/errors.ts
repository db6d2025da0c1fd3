import type { RejectedEvent } from './capture.ts';

/**
 * Every error that the API can answer with. The body is `{type, code, detail, attr}`; `code` is stable and never reused.
 * Clients of the existing service match on type, code and status, so these are theirs.
 */
export const apiErrors = {
  required: { status: 400, type: 'validation_error', meaning: 'A required field is missing.' },
  null: { status: 400, type: 'validation_error', meaning: 'A field is null that may not be.' },
  blank: { status: 400, type: 'validation_error', meaning: 'A text field is empty that may not be.' },
  invalid_input: { status: 400, type: 'validation_error', meaning: 'A value has the wrong type or form.' },
  max_length: { status: 400, type: 'validation_error', meaning: 'A text is longer than allowed.' },
  max_value: { status: 400, type: 'validation_error', meaning: 'A number is above the allowed range.' },
  min_value: { status: 400, type: 'validation_error', meaning: 'A number is below the allowed range.' },
  does_not_exist: { status: 400, type: 'validation_error', meaning: 'A field refers to a record that does not exist.' },
  unique: { status: 400, type: 'validation_error', meaning: 'A value is already taken.' },
  parse_error: { status: 400, type: 'invalid_request', meaning: 'The body could not be read as what it claims to be.' },
  not_authenticated: { status: 401, type: 'authentication_error', meaning: 'No credentials were given.' },
  authentication_failed: { status: 401, type: 'authentication_error', meaning: 'The given key is not valid.' },
  permission_denied: { status: 403, type: 'authentication_error', meaning: 'The key may not do this.' },
  not_found: { status: 404, type: 'invalid_request', meaning: 'There is no such record or path.' },
  method_not_allowed: { status: 405, type: 'invalid_request', meaning: 'The path does not take this method.' },
  request_timeout: { status: 408, type: 'invalid_request', meaning: 'The body did not arrive in time.' },
  conflict: { status: 409, type: 'invalid_request', meaning: 'The request contradicts the present state.' },
  precondition_failed: {
    status: 412,
    type: 'invalid_request',
    meaning: 'The record was changed since the client saw it: it is not the one that `If-Match` names.',
  },
  request_too_large: { status: 413, type: 'invalid_request', meaning: 'The body or an event in it is too large.' },
  unsupported_media_type: { status: 415, type: 'invalid_request', meaning: 'The media type or encoding is not taken.' },
  invalid_host: { status: 421, type: 'invalid_request', meaning: 'The Host header names another server.' },
  throttled: { status: 429, type: 'throttled_error', meaning: 'Too many requests; see Retry-After.' },
  error: { status: 500, type: 'server_error', meaning: 'A fault of the server; the request id finds it in the log.' },
  unavailable: { status: 503, type: 'server_error', meaning: 'Storage or load trouble; retry after Retry-After.' },
} as const;

export type ApiErrorCode = keyof typeof apiErrors;
export type ApiErrorType = (typeof apiErrors)[ApiErrorCode]['type'];

/** What the capture paths refuse a request with. */
export const captureErrorCodes = [
  'required',
  'max_length',
  'invalid_input',
  'parse_error',
  'not_authenticated',
  'authentication_failed',
  'request_timeout',
  'request_too_large',
  'unsupported_media_type',
  'throttled',
  'error',
  'unavailable',
] as const satisfies readonly ApiErrorCode[];

export interface FieldError {
  readonly code: ApiErrorCode;
  readonly detail: string;
  /** The field, nested names joined by `__`; null when no single field is at fault. */
  readonly attr: string | null;
}

/** What a client receives. `errors` lists every field error when there are several, or the events that capture refuses. */
export interface ApiErrorBody extends FieldError {
  readonly type: ApiErrorType;
  readonly errors?: readonly FieldError[] | readonly RejectedEvent[];
}

/** Thrown anywhere behind a route; the HTTP layer turns it into the answer. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: ApiErrorCode;
  readonly detail: string;
  readonly attr: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** What `errors` of the body lists; empty: it has none. */
  readonly errors: readonly FieldError[] | readonly RejectedEvent[];

  constructor(
    code: ApiErrorCode,
    detail: string,
    more: {
      attr?: string | null;
      headers?: Readonly<Record<string, string>>;
      errors?: readonly FieldError[] | readonly RejectedEvent[];
      cause?: unknown;
    } = {},
  ) {
    super(detail, { cause: more.cause });
    this.code = code;
    this.detail = detail;
    this.attr = more.attr ?? null;
    this.headers = more.headers ?? {};
    this.errors = more.errors ?? [];
  }

  get status(): number {
    return apiErrors[this.code].status;
  }

  body(): ApiErrorBody {
    const { type } = apiErrors[this.code];
    const first = { type, code: this.code, detail: this.detail, attr: this.attr };
    return this.errors.length > 0 ? { ...first, errors: this.errors } : first;
  }
}

/** What a look-up found. @throws ApiError not_found when that is nothing */
export function orNotFound<T>(record: T | undefined): T {
  if (record === undefined) throw new ApiError('not_found', 'Not found.');
  return record;
}

/** Several field errors in one answer; the first one is the headline. */
export function fieldErrors(errors: readonly [FieldError, ...FieldError[]]): ApiError {
  const [first, ...others] = errors;
  return new ApiError(first.code, first.detail, { attr: first.attr, errors: others.length > 0 ? errors : [] });
}
