import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../contract/errors.ts';

/** Returns the write key of a request from its headers, else from its query. `undefined` if only the body may contain it. */
export function keyOfRequest(headers: IncomingHttpHeaders, query: Pick<URLSearchParams, 'get'>): string | undefined {
  const header = headers['x-write-key'];
  return keyOf(userOfBasic(headers.authorization)) ?? keyOf(header) ?? keyOf(query.get('writeKey'));
}

/** Returns the write key in a body: that of its root, else of its first message. Throws ApiError 401 without one. */
export function keyOfBody(writeKey: unknown): string {
  const key = keyOf(writeKey);
  if (key !== undefined) return key;
  throw new ApiError(
    'not_authenticated',
    'expected the project API key (phc_…) as the user name of Basic authentication, in the header X-Write-Key, or as "writeKey" of the body, got: none',
    { attr: 'writeKey' },
  );
}

/** Jitsu's libraries require keys of the form `key:secret`. The secret is not needed. */
function keyOf(value: unknown): string | undefined {
  const key = typeof value === 'string' ? value.trim().replace(/:.*$/s, '') : '';
  return key === '' ? undefined : key;
}

function userOfBasic(authorization: string | undefined): string | undefined {
  const encoded = /^\s*basic\s+(\S+)/i.exec(authorization ?? '')?.[1];
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString();
}
