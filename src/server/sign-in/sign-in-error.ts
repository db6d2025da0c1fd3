import { signInErrors, type SignInErrorCode } from '../../wire/contract/errors.ts';

/** A refused sign-in. */
export class SignInError extends Error {
  override name = 'SignInError';
  readonly code: SignInErrorCode;
  /** One or two sentences for the user: what happened, and what to do. */
  readonly detail: string;
  /** For the log: what the provider or the client reported, without tokens and addresses. */
  readonly reason: string | undefined;

  constructor(
    code: SignInErrorCode,
    detail: string,
    more: { readonly reason?: string; readonly cause?: unknown } = {},
  ) {
    super(detail, { cause: more.cause });
    this.code = code;
    this.detail = detail;
    this.reason = more.reason;
  }

  get status(): number {
    return signInErrors[this.code].status;
  }
}
