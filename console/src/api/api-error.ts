import type { ApiErrorBody, ApiErrorCode, FieldError } from '../../../src/wire/contract/errors.ts';

/** `unreachable`: no answer at all. `unreadable`: an answer that is not the API's, as proxies give. */
export type ErrorCode = ApiErrorCode | 'unreachable' | 'unreadable';

/** What a request failed with. `detail` is a sentence for people, `attr` the field that it is about. */
export class ApiError extends Error {
  override name = 'ApiError';
  /** 0: no answer. */
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
  return new ApiError(0, { code: 'unreachable', detail: 'The service does not answer.' }, { cause });
}

/** The error that an answer which is not 2xx stands for. */
export async function errorOf(response: Response): Promise<ApiError> {
  const retryAfterMs = Number(response.headers.get('retry-after') ?? Number.NaN) * 1000;
  const more = { retryAfterMs: Number.isFinite(retryAfterMs) ? retryAfterMs : undefined };
  const body: unknown = await response.json().catch(() => undefined);
  if (isErrorBody(body)) return new ApiError(response.status, body, more);
  const detail = `The answer has status ${response.status} and is not from the API of this service.`;
  return new ApiError(response.status, { code: 'unreadable', detail }, more);
}

function isErrorBody(body: unknown): body is ApiErrorBody & { readonly errors?: readonly FieldError[] } {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
}

/** Whether trying again may help: nobody answered, the service is starting, or it asks to wait. */
export function isTransient(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || [429, 502, 503, 504].includes(error.status));
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}
