import { unattendedHeader } from '../../wire/contract/sign-in-header.ts';
import type { ParsedBody } from './body.ts';
import type { RouteRequest } from './route-request.ts';

export const sessionCookie = 'millrace_session';

/** Credentials of a caller. `place` is for the error text. */
export type Credentials =
  | { readonly kind: 'key'; readonly key: string; readonly place: 'Authorization header' | 'body' | 'query string' }
  | {
      readonly kind: 'session';
      readonly cookie: string;
      /** Whether the request is not a use of the session: see `unattendedHeader`. */
      readonly isUnattended?: boolean;
    };

/**
 * Finds the first key in: `Authorization: Bearer`, the body field `personal_api_key`, the query parameter of that name; otherwise
 * the console's session cookie. Keys in body and query are removed, so that no handler, link or log contains them.
 */
export function takeCredentials(
  request: Pick<RouteRequest, 'headers' | 'query'>,
  body: ParsedBody | undefined,
): Credentials | undefined {
  const inHeader = bearerKey(request.headers.authorization);
  const inBody = body === undefined ? undefined : takeField(body.value);
  const inQuery = takeField(request.query);
  if (inHeader !== undefined) return { kind: 'key', key: inHeader, place: 'Authorization header' };
  if (inBody !== undefined) return { kind: 'key', key: inBody, place: 'body' };
  if (inQuery !== undefined) return { kind: 'key', key: inQuery, place: 'query string' };
  const cookie = cookieValue(request.headers.cookie, sessionCookie);
  if (cookie === undefined) return undefined;
  return { kind: 'session', cookie, isUnattended: request.headers[unattendedHeader] === 'true' };
}

/** Returns the key of an `Authorization: Bearer …` header; extra spaces are ignored. */
export function bearerKey(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^\s*bearer\s+(\S+)\s*$/i.exec(header)?.[1];
}

function takeField(container: unknown): string | undefined {
  if (typeof container !== 'object' || container === null || !('personal_api_key' in container)) return undefined;
  const value: unknown = container.personal_api_key;
  delete container.personal_api_key;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function cookieValue(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim() || undefined;
  }
  return undefined;
}

/** Removes the parameter that may contain a key from a query string. */
export function queryWithoutKey(rawQuery: string): string {
  // The name may be escaped.
  if (!rawQuery.includes('personal_api_key') && !rawQuery.includes('%')) return rawQuery;
  return rawQuery
    .split('&')
    .filter((pair) => new URLSearchParams(pair).get('personal_api_key') === null)
    .join('&');
}
