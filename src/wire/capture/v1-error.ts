import { captureV1Errors, type CaptureV1Error, type CaptureV1ErrorTag } from '../contract/capture.ts';
import { ApiError, type ApiErrorCode } from '../contract/errors.ts';

/** An error response of the v1 endpoint, which has its own body format. */
export class V1Error extends Error {
  override name = 'V1Error';
  readonly tag: CaptureV1ErrorTag;
  readonly headers: Readonly<Record<string, string>>;
  constructor(tag: CaptureV1ErrorTag, description: string, headers: Readonly<Record<string, string>> = {}) {
    super(description);
    this.tag = tag;
    this.headers = headers;
  }
  get status(): number {
    return captureV1Errors[this.tag];
  }
  body(): CaptureV1Error {
    return { error: this.tag, error_description: this.message, error_uri: 'https://posthog.com/docs/api' };
  }
}

const tags: Readonly<Partial<Record<ApiErrorCode, CaptureV1ErrorTag>>> = {
  not_authenticated: 'invalid_api_token',
  authentication_failed: 'invalid_api_token',
  parse_error: 'request_parsing_error',
  request_timeout: 'request_timeout',
  request_too_large: 'payload_too_large',
  unsupported_media_type: 'unsupported_media_type',
  throttled: 'rate_limited',
  unavailable: 'service_unavailable',
};

/** Converts an error to its v1 form. Returns `undefined` for an internal error, which the server logs and answers. */
export function toV1Error(error: unknown): V1Error | undefined {
  if (error instanceof V1Error) return error;
  if (!(error instanceof ApiError)) return undefined;
  const tag = tags[error.code];
  return tag === undefined ? undefined : new V1Error(tag, error.detail, error.headers);
}
