import { expect, it } from 'vitest';
import { OutboundError } from '../../plugins/outbound/outbound.ts';
import { describeFault } from './provider-fault.ts';

function fault(code: string, more: object = {}, cause?: object): Error {
  return Object.assign(new Error('secret-token', { cause }), { code, ...more });
}

it.each([
  [new OutboundError('network', 'the request to https://id.example.com failed'), 'oidc_unreachable'],
  [new Error('x', { cause: new OutboundError('limit', 'too slow') }), 'oidc_unreachable'],
  [fault('OAUTH_RESPONSE_IS_NOT_CONFORM'), 'oidc_unreachable'],
  [fault('OAUTH_RESPONSE_BODY_ERROR', { error: 'server_error' }), 'oidc_unreachable'],
  [fault('OAUTH_RESPONSE_BODY_ERROR', { error: 'invalid_grant' }), 'oidc_code_refused'],
  [fault('OAUTH_RESPONSE_BODY_ERROR', { error: 'invalid_client' }), 'oidc_misconfigured'],
  [fault('OAUTH_WWW_AUTHENTICATE_CHALLENGE'), 'oidc_misconfigured'],
  [fault('OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED', {}, { attribute: 'issuer' }), 'oidc_misconfigured'],
  [fault('OAUTH_AUTHORIZATION_RESPONSE_ERROR', { error: 'access_denied' }), 'oidc_refused'],
  [fault('OAUTH_JWT_TIMESTAMP_CHECK_FAILED'), 'oidc_token_expired'],
  [fault('OAUTH_JWT_CLAIM_COMPARISON_FAILED', {}, { cause: { claim: 'nonce' } }), 'oidc_nonce_mismatch'],
  [fault('OAUTH_JWT_CLAIM_COMPARISON_FAILED', {}, { cause: { claim: 'aud' } }), 'oidc_token_invalid'],
  [fault('OAUTH_INVALID_RESPONSE'), 'oidc_token_invalid'],
  [new TypeError('secret-token'), 'oidc_token_invalid'],
])('%o is %s, without the text of the error', (error, code) => {
  const described = describeFault(error, 'Example ID');
  expect(described.code).toBe(code);
  expect(`${described.detail} ${described.reason}`).not.toContain('secret-token');
});

it('text in place of an error code is not repeated', () => {
  const error = fault('OAUTH_AUTHORIZATION_RESPONSE_ERROR', { error: '<b>Send money</b>' });
  expect(describeFault(error, 'ID').detail).not.toContain('money');
});
