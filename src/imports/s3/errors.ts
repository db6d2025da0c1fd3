/**
 * - missing: no such object or bucket
 * - refused: credentials, permissions, a wrong name or region; waiting does not help
 * - changed: the object differs from the listed one
 * - wait: throttled, 5xx, no connection; waiting may help
 */
type BucketErrorKind = 'missing' | 'refused' | 'changed' | 'wait';

/** The error of a bucket, in one sentence without secrets. */
export class BucketError extends Error {
  override name = 'BucketError';
  readonly kind: BucketErrorKind;
  /** Requested by the server (Retry-After). */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: BucketErrorKind,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }
}

interface Answer {
  readonly name: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
}

const missing = new Set(['NoSuchKey', 'NotFound', 'NoSuchBucket', 'NoSuchUpload']);
const passing = new Set(['SlowDown', 'Throttling', 'RequestTimeout', 'InternalError', 'ServiceUnavailable']);

/** @param what the target of the request: `the object a/b of the bucket events` */
export function asBucketError(error: unknown, what: string): Error {
  if (error instanceof BucketError) return error;
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'OutboundError')) return error;
  const { name, status, retryAfterMs } = read(error);
  const options = { cause: error, retryAfterMs };
  const answer = status === undefined ? name : `${status} ${name}`;
  if (status === 412) return new BucketError('changed', `${what} has changed since it was listed`, options);
  if (missing.has(name) || status === 404) {
    return new BucketError(
      'missing',
      `expected ${what}, but it does not exist (${answer}): check bucket and name`,
      options,
    );
  }
  if (name === 'CredentialsProviderError') {
    const advice = 'check its environment, profile and role, or set keys';
    return new BucketError('refused', `this machine has no credentials for ${what}: ${advice}`, options);
  }
  if (status === undefined || status >= 500 || status === 429 || passing.has(name)) {
    return new BucketError('wait', `${what} cannot be reached now: ${answer}`, options);
  }
  const advice = 'check the keys, their permissions (list, read), the region and the bucket';
  return new BucketError('refused', `access to ${what} was refused with ${answer}: ${advice}`, options);
}

/** Errors of the SDK have `name` and `$metadata`, those of sockets a `code`. */
function read(error: unknown): Answer {
  const fields: Readonly<Record<string, unknown>> = typeof error === 'object' && error !== null ? { ...error } : {};
  const own = error instanceof Error ? error.name : 'UnknownError';
  const name = typeof fields['code'] === 'string' ? fields['code'] : own;
  const metadata = recordOf(fields['$metadata']);
  const headers = recordOf(recordOf(fields['$response'])['headers']);
  const status = metadata['httpStatusCode'];
  const seconds = Number(headers['retry-after']);
  return {
    name: /^[A-Za-z0-9_.]{1,60}$/.test(name) ? name : own,
    status: typeof status === 'number' ? status : undefined,
    retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined,
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  // Sound: an object read as a record gives undefined for missing members.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
