import type { SignInErrorCode } from '../../wire/contract/errors.ts';
import { OutboundError } from '../../plugins/outbound/outbound.ts';
import { SignInError } from './sign-in-error.ts';

/** Errors of openid-client have a code, and name the claim at fault in the cause of their cause. */
interface Fault {
  readonly code?: unknown;
  /** Error code that the provider returned. */
  readonly error?: unknown;
  readonly claim?: unknown;
  readonly attribute?: unknown;
  readonly cause?: unknown;
}

const depthMax = 5;

/** Codes of answers that are not those of a provider. */
const unexpectedAnswers = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);

/** Error codes with which a provider reports its own fault. */
const ownFaults = new Set(['server_error', 'temporarily_unavailable']);

/**
 * Describes a failed request to the provider, or an answer that failed a check. Only codes and addresses of servers are repeated:
 * causes of these errors contain claims and bodies.
 */
export function describeFault(error: unknown, name: string): SignInError {
  if (error instanceof SignInError) return error;
  const chain = causesOf(error);
  const outbound = chain.find((each) => each instanceof OutboundError);
  if (outbound instanceof OutboundError) return unreachable(name, outbound.message, error);
  const code = firstText(chain, 'code') ?? 'unknown';
  const returned = errorCodeOf(firstText(chain, 'error'));
  const claim = firstText(chain, 'claim');
  const attribute = firstText(chain, 'attribute');
  if (unexpectedAnswers.has(code) || ownFaults.has(returned ?? '')) return unreachable(name, code, error);
  const kind = kindOf({ code, returned, claim, attribute });
  const reason = [code, returned, claim ?? attribute].filter((each) => each !== undefined).join(' ');
  return new SignInError(kind, sentences[kind](name, returned), { reason, cause: error });
}

type FaultCode = Extract<
  SignInErrorCode,
  | 'oidc_refused'
  | 'oidc_code_refused'
  | 'oidc_misconfigured'
  | 'oidc_nonce_mismatch'
  | 'oidc_token_expired'
  | 'oidc_token_invalid'
>;

const sentences: Readonly<Record<FaultCode, (name: string, returned: string | undefined) => string>> = {
  oidc_refused: (name, returned) =>
    `${name} returned ${returned ?? 'an error'}. Start again; if it happens every time, ask an admin of ${name} whether you may use this application.`,
  oidc_code_refused: (name) => `The code that ${name} issued was used before or has expired. Start again.`,
  oidc_misconfigured: (name, returned) =>
    `${name} does not accept this service${returned === undefined ? '' : ` (${returned})`}. The operator must compare MILLRACE_OIDC_ISSUER, ` +
    'client id, client secret and redirect URI with what is registered there.',
  oidc_nonce_mismatch: (name) =>
    `${name} returned an ID token that was issued for another sign-in. Start again in this browser.`,
  oidc_token_expired: (name) =>
    `The ID token of ${name} is not valid at this time. Start again; if it happens every time, the operator must check the clocks of both servers.`,
  oidc_token_invalid: (name) =>
    `The ID token of ${name} failed a check. Start again; if it happens every time, the operator finds the reason in the log.`,
};

function kindOf(fault: {
  readonly code: string;
  readonly returned: string | undefined;
  readonly claim: string | undefined;
  readonly attribute: string | undefined;
}): FaultCode {
  const { code, returned, claim, attribute } = fault;
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR') return 'oidc_refused';
  if (code === 'OAUTH_RESPONSE_BODY_ERROR') {
    return returned === 'invalid_grant' ? 'oidc_code_refused' : 'oidc_misconfigured';
  }
  if (code === 'OAUTH_WWW_AUTHENTICATE_CHALLENGE' || attribute === 'issuer') return 'oidc_misconfigured';
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return 'oidc_token_expired';
  return claim === 'nonce' ? 'oidc_nonce_mismatch' : 'oidc_token_invalid';
}

function unreachable(name: string, reason: string, cause: unknown): SignInError {
  const detail = `${name} could not be reached, or did not answer as expected. Try again in a minute.`;
  return new SignInError('oidc_unreachable', detail, { reason, cause });
}

function causesOf(error: unknown): Fault[] {
  const chain: Fault[] = [];
  for (let each = error; typeof each === 'object' && each !== null && chain.length < depthMax;) {
    chain.push(each as Fault);
    each = (each as Fault).cause;
  }
  return chain;
}

function firstText(chain: readonly Fault[], field: 'code' | 'error' | 'claim' | 'attribute'): string | undefined {
  const values = chain.map((each) => each[field]);
  return values.find((value) => typeof value === 'string');
}

/** Error codes of the protocol are words; anything else is not repeated. */
function errorCodeOf(text: string | undefined): string | undefined {
  return text !== undefined && /^[a-z_]{1,60}$/.test(text) ? text : undefined;
}
