import { unattendedHeader } from '../../../src/wire/contract/sign-in-header.ts';
import { errorOf, unreachable } from './api-error.ts';
import { watchAttendance } from './attendance.ts';
import { parseExact } from './exact-json.ts';
import { fetchWithProgress } from './fetch-with-progress.ts';

/** Absent outside of a page. */
const attendance = typeof window === 'undefined' ? undefined : watchAttendance(window);

type QueryValue = string | number | boolean | null | undefined | readonly (string | number)[];
export type Query = Readonly<Record<string, QueryValue>>;

interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: Query;
  /** Sent as JSON, except a Blob or FormData, which is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/**
 * Calls the API on the page's own origin. The browser sends the session cookie and marks the request as same-origin.
 * @returns the JSON, parsed by parseExact, or `undefined` for an empty response
 * @throws ApiError for every response but 2xx, and with code `unreachable` when there is no response
 */
export async function request<Result>(path: string, options: RequestOptions = {}): Promise<Result> {
  const response = await send(path, options);
  const text = await response.text();
  return (text === '' ? undefined : parseExact(text)) as Result;
}

interface UploadOptions {
  readonly query: Query;
  readonly body: Blob;
  /** Receives the number of bytes sent, while the body is being sent. */
  readonly onSent: (bytes: number) => void;
}

/** Works like `request`, for bytes whose progress is shown. */
export async function upload<Result>(path: string, { query, body, onSent }: UploadOptions): Promise<Result> {
  const headers = { accept: 'application/json', 'content-type': 'application/octet-stream' };
  const response = await fetchWithProgress(urlOf(path, query), { method: 'POST', headers, body }, onSent).catch(
    (error: unknown) => {
      throw unreachable(error);
    },
  );
  if (!response.ok) throw await errorOf(response);
  return parseExact(await response.text()) as Result;
}

/** Works like `request`, for responses that are not JSON. */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = 'GET', query, body, headers, signal } = options;
  const init: RequestInit = {
    method,
    headers: {
      accept: 'application/json',
      // What a user has started is a use of the session however long it takes.
      ...(method === 'GET' && attendance?.isUnattended() === true ? { [unattendedHeader]: 'true' } : {}),
      ...(isJson(body) ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isJson(body) ? JSON.stringify(body) : (body as BodyInit) }),
    ...(signal === undefined ? {} : { signal }),
  };
  const response = await fetch(urlOf(path, query), init).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw unreachable(error);
  });
  if (!response.ok) throw await errorOf(response);
  return response;
}

function isJson(body: unknown): boolean {
  return body !== undefined && !(body instanceof Blob) && !(body instanceof FormData);
}

/** Joins path and query string. Omits undefined, null and empty values and joins lists with commas. */
export function urlOf(path: string, query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const text = Array.isArray(value) ? value.join(',') : String(value ?? '');
    return text === '' ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(text)}`];
  });
  return pairs.length === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${pairs.join('&')}`;
}
