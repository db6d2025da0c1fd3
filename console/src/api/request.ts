import { errorOf, unreachable } from './api-error.ts';
import { parseExact } from './exact-json.ts';

export type QueryValue = string | number | boolean | null | undefined | readonly (string | number)[];
export type Query = Readonly<Record<string, QueryValue>>;

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: Query;
  /** Sent as JSON; a Blob or FormData as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/**
 * Calls the API of the service that the page comes from; the session cookie goes along by itself, and the browser says that the
 * request is of the same origin.
 * @returns the parsed JSON, as parseExact does it; undefined for an empty answer
 * @throws ApiError for every answer but 2xx, and with code `unreachable` when there is none
 */
export async function request<Result>(path: string, options: RequestOptions = {}): Promise<Result> {
  const response = await send(path, options);
  const text = await response.text();
  return (text === '' ? undefined : parseExact(text)) as Result;
}

/** As request, for answers that are not JSON. */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = 'GET', query, body, headers, signal } = options;
  const init: RequestInit = {
    method,
    headers: {
      accept: 'application/json',
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

/** Path and query string; what is undefined, null or empty stays out, lists are joined by commas. */
export function urlOf(path: string, query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const text = Array.isArray(value) ? value.join(',') : String(value ?? '');
    return text === '' ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(text)}`];
  });
  return pairs.length === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${pairs.join('&')}`;
}
