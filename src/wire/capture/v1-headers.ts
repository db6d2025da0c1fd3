import type { IncomingHttpHeaders } from 'node:http';
import { parseTimestamp } from '../batch/timestamps.ts';
import { V1Error } from './v1-error.ts';

/** The client library named by the PostHog-Sdk-Info header. */
export interface SdkInfo {
  readonly name: string;
  readonly version: string;
}

export interface V1Headers {
  readonly token: string;
  readonly sdk: SdkInfo;
  readonly requestId: string;
  /** When the client sent the request, ms since the epoch. */
  readonly sentAt: number;
}

const requiredHeaders = [
  'content-type',
  'user-agent',
  'posthog-sdk-info',
  'posthog-attempt',
  'posthog-request-id',
  'posthog-request-timestamp',
] as const;

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const rfc3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

export function isUuid(text: string): boolean {
  return uuidForm.test(text);
}

/** Checks every header that a v1 client must send, and names all missing ones together. */
export function readV1Headers(headers: IncomingHttpHeaders): V1Headers {
  const token = bearerToken(headers.authorization);
  const value = (name: string): string => String(headers[name] ?? '').trim();
  const missing = requiredHeaders.filter((name) => value(name) === '');
  if (missing.length > 0) {
    throw new V1Error('missing_required_headers', `expected the headers ${missing.join(', ')}, got: none of them`);
  }
  const mediaType = value('content-type').split(';')[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') {
    throw new V1Error('unsupported_media_type', `expected Content-Type application/json, got: ${mediaType}`);
  }
  const [, name, version] = /^([^/\s]+)\/(\S+)$/.exec(value('posthog-sdk-info')) ?? [];
  if (name === undefined || version === undefined) throw invalid('PostHog-Sdk-Info', 'name/version');
  check(/^[1-9]\d{0,8}$/.test(value('posthog-attempt')), 'PostHog-Attempt', 'a whole number from 1');
  const requestId = value('posthog-request-id');
  check(isUuid(requestId), 'PostHog-Request-Id', 'a UUID');
  const sent = value('posthog-request-timestamp');
  const micros = rfc3339.test(sent) ? parseTimestamp(sent) : undefined;
  if (micros === undefined) throw invalid('PostHog-Request-Timestamp', 'an RFC 3339 time');
  return { token, sdk: { name, version }, requestId, sentAt: Math.round(micros / 1000) };
}

function check(isGood: boolean, header: string, expectation: string): void {
  if (!isGood) throw invalid(header, expectation);
}

function invalid(header: string, expectation: string): V1Error {
  return new V1Error('invalid_header_value', `expected ${header} to be ${expectation}, got: something else`);
}

function bearerToken(authorization: string | undefined): string {
  const match = /^\s*bearer\s+(\S.*)$/i.exec(authorization ?? '');
  const token = match?.[1]?.trim();
  if (token !== undefined) return token;
  throw new V1Error('invalid_api_token', 'expected Authorization: Bearer with the project API key (phc_…), got: none');
}
