import type { ApiErrorBody, ApiErrorCode, FieldError } from '../../../src/wire/contract/errors.ts';

/** `unreachable` means no response at all, `unreadable` a response that is not from the API, such as a proxy's error page. */
export type ErrorCode = ApiErrorCode | 'unreachable' | 'unreadable';

/** A failed request. `detail` is a sentence for users, `attr` the field it refers to. */
export class ApiError extends Error {
  override name = 'ApiError';
  /** HTTP status; 0 means no response. */
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly attr: string | null;
  readonly errors: readonly FieldError[];
  readonly retryAfterMs: number | undefined;

  constructor(status: number, body: ErrorFacts, more: { retryAfterMs?: number | undefined; cause?: unknown } = {}) {
    super(body.detail, { cause: more.cause });
    this.status = status;
    this.code = body.code;
    this.detail = body.detail;
    this.attr = body.attr ?? null;
    this.errors = body.errors ?? [];
    this.retryAfterMs = more.retryAfterMs;
  }
}

interface ErrorFacts {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly attr?: string | null;
  readonly errors?: readonly FieldError[];
}

export function unreachable(cause: unknown): ApiError {
  return new ApiError(0, { code: 'unreachable', detail: 'The service is not responding.' }, { cause });
}

/** Reads the error from a response that is not 2xx. */
export async function errorOf(response: Response): Promise<ApiError> {
  const retryAfterMs = Number(response.headers.get('retry-after') ?? Number.NaN) * 1000;
  const more = { retryAfterMs: Number.isFinite(retryAfterMs) ? retryAfterMs : undefined };
  const body: unknown = await response.json().catch(() => undefined);
  if (isErrorBody(body)) return new ApiError(response.status, body, more);
  const detail = `Expected a response from the API, got status ${response.status} with another body.`;
  return new ApiError(response.status, { code: 'unreadable', detail }, more);
}

function isErrorBody(body: unknown): body is ApiErrorBody & { readonly errors?: readonly FieldError[] } {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
}

/** Tells whether a retry may help: no response, the service is starting, or it asks clients to wait. */
export function isTransient(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || [429, 502, 503, 504].includes(error.status));
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}
