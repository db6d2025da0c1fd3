import type { RejectedEvent } from './capture.ts';

/**
 * Every error that the API can return. The body is `{type, code, detail, attr}`; `code` is stable and never reused.
 * Existing clients match on type, code and status, so these follow PostHog's API.
 */
export const apiErrors = {
  required: { status: 400, type: 'validation_error', meaning: 'A required field is missing.' },
  null: { status: 400, type: 'validation_error', meaning: 'A field must not be null.' },
  blank: { status: 400, type: 'validation_error', meaning: 'A text field must not be empty.' },
  invalid_input: { status: 400, type: 'validation_error', meaning: 'A value has the wrong type or format.' },
  max_length: { status: 400, type: 'validation_error', meaning: 'A text is longer than allowed.' },
  max_value: { status: 400, type: 'validation_error', meaning: 'A number is above the allowed range.' },
  min_value: { status: 400, type: 'validation_error', meaning: 'A number is below the allowed range.' },
  does_not_exist: { status: 400, type: 'validation_error', meaning: 'A field refers to a record that does not exist.' },
  unique: { status: 400, type: 'validation_error', meaning: 'A value is already taken.' },
  parse_error: { status: 400, type: 'invalid_request', meaning: 'The body does not match its content type.' },
  not_authenticated: { status: 401, type: 'authentication_error', meaning: 'No credentials were given.' },
  authentication_failed: { status: 401, type: 'authentication_error', meaning: 'The credentials are not valid.' },
  permission_denied: { status: 403, type: 'authentication_error', meaning: 'The key lacks the required permission.' },
  not_found: { status: 404, type: 'invalid_request', meaning: 'The record or path does not exist.' },
  method_not_allowed: { status: 405, type: 'invalid_request', meaning: 'The path does not support this method.' },
  request_timeout: { status: 408, type: 'invalid_request', meaning: 'The body did not arrive in time.' },
  conflict: { status: 409, type: 'invalid_request', meaning: 'The request conflicts with the current state.' },
  precondition_failed: {
    status: 412,
    type: 'invalid_request',
    meaning: 'The record has changed since the client read it and no longer matches `If-Match`.',
  },
  request_too_large: { status: 413, type: 'invalid_request', meaning: 'The body or an event in it is too large.' },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request',
    meaning: 'The media type or encoding is not supported.',
  },
  invalid_host: { status: 421, type: 'invalid_request', meaning: 'The Host header names another server.' },
  throttled: { status: 429, type: 'throttled_error', meaning: 'Too many requests; see Retry-After.' },
  error: { status: 500, type: 'server_error', meaning: 'Internal error. Search the log for the request id.' },
  unavailable: {
    status: 503,
    type: 'server_error',
    meaning: 'Temporarily unavailable or overloaded. Retry after Retry-After.',
  },
} as const;

/**
 * Every refusal of a sign-in with the OpenID Connect provider, shown as a page with its code. `retry` is what the page offers: the same
 * account again, another account, or only the other ways to sign in.
 */
export const signInErrors = {
  oidc_not_configured: {
    status: 404,
    title: 'Signing in with a provider is not set up',
    meaning: 'MILLRACE_OIDC_ISSUER is not set.',
    retry: 'none',
  },
  oidc_unreachable: {
    status: 503,
    title: 'The sign-in provider does not answer',
    meaning: 'The provider could not be reached, took too long or answered with something else than expected.',
    retry: 'same',
  },
  oidc_misconfigured: {
    status: 502,
    title: 'The sign-in provider refused this service',
    meaning: 'Issuer, client id, client secret or redirect URI do not match what the provider has.',
    retry: 'none',
  },
  oidc_refused: {
    status: 403,
    title: 'The sign-in provider did not sign you in',
    meaning: 'The provider returned an error, for example because the user cancelled or must not use the application.',
    retry: 'same',
  },
  oidc_state_invalid: {
    status: 400,
    title: 'This sign-in cannot be continued',
    meaning: 'The sign-in was used already, is older than ten minutes, or was started in another browser.',
    retry: 'same',
  },
  oidc_code_refused: {
    status: 403,
    title: 'The sign-in provider refused the code',
    meaning: 'The code of the sign-in was used before or has expired.',
    retry: 'same',
  },
  oidc_nonce_mismatch: {
    status: 403,
    title: 'The ID token belongs to another sign-in',
    meaning: 'The nonce of the ID token is not that of the sign-in.',
    retry: 'same',
  },
  oidc_token_expired: {
    status: 403,
    title: 'The ID token has expired',
    meaning: 'The ID token is not valid at this time. Often the clock of one of the servers is wrong.',
    retry: 'same',
  },
  oidc_token_invalid: {
    status: 403,
    title: 'The ID token is not valid',
    meaning: 'Issuer, audience, signature or form of the ID token is not as expected.',
    retry: 'same',
  },
  oidc_email_missing: {
    status: 403,
    title: 'Your account has no email address',
    meaning: 'Neither the ID token nor the user info contains a usable email address.',
    retry: 'other',
  },
  oidc_email_unverified: {
    status: 403,
    title: 'Your email address is not verified',
    meaning: 'The claim of MILLRACE_OIDC_EMAIL_VERIFIED_CLAIM is not true.',
    retry: 'other',
  },
  oidc_domain_not_allowed: {
    status: 403,
    title: 'Your email domain must not sign in here',
    meaning: 'The domain of the address is not one of MILLRACE_OIDC_ALLOWED_DOMAINS.',
    retry: 'other',
  },
  oidc_no_role: {
    status: 403,
    title: 'You have no access to Millrace',
    meaning: 'No group of the user gives a role, and there is no default role. Sessions of the user are ended.',
    retry: 'other',
  },
  oidc_last_admin: {
    status: 403,
    title: 'Your groups would leave no admin',
    meaning: 'The groups of the only active admin give a lower role.',
    retry: 'other',
  },
  oidc_user_deactivated: {
    status: 403,
    title: 'Your user is deactivated',
    meaning: 'An admin has deactivated the user.',
    retry: 'other',
  },
  oidc_account_conflict: {
    status: 403,
    title: 'Your email address belongs to another user',
    meaning: 'A user with this address signs in with another account of the provider.',
    retry: 'other',
  },
  oidc_throttled: {
    status: 429,
    title: 'Too many sign-ins',
    meaning: 'More than 120 requests to sign in within a minute from one address.',
    retry: 'none',
  },
} as const;

export type SignInErrorCode = keyof typeof signInErrors;

export type ApiErrorCode = keyof typeof apiErrors;
export type ApiErrorType = (typeof apiErrors)[ApiErrorCode]['type'];

/** Error codes with which the capture paths refuse a request. */
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
  /** The invalid field, nested names joined by `__`. `null` if no single field is invalid. */
  readonly attr: string | null;
}

/** Error body. `errors` lists all field errors if there are several, or the events that capture rejected. */
export interface ApiErrorBody extends FieldError {
  readonly type: ApiErrorType;
  readonly errors?: readonly FieldError[] | readonly RejectedEvent[];
}

/** Thrown behind a route and converted to a response by the HTTP layer. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: ApiErrorCode;
  readonly detail: string;
  readonly attr: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Content of `errors` in the body; omitted if empty. */
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

/** Returns the record. @throws ApiError not_found if it is undefined */
export function orNotFound<T>(record: T | undefined): T {
  if (record === undefined) throw new ApiError('not_found', 'Not found.');
  return record;
}

/** Combines several field errors into one response, led by the first. */
export function fieldErrors(errors: readonly [FieldError, ...FieldError[]]): ApiError {
  const [first, ...others] = errors;
  return new ApiError(first.code, first.detail, { attr: first.attr, errors: others.length > 0 ? errors : [] });
}
