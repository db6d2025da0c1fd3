import type { OutboundFetch } from '../../plugins/outbound/outbound.ts';
import { retryAfterMs, type Answer } from './batch-answer.ts';

/** Sends one HTTP request to a target. Rejects without a response; never follows a redirect to another address. */
export type HttpRequest = (request: {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
}) => Promise<Answer>;

const answerMsMax = 120_000;

/** Allows any address: for the command line, whose user gives it. */
export function directRequest(answerMs = answerMsMax): HttpRequest {
  return async ({ url, method, headers, body, signal }) => {
    const response = await fetch(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
    });
    const text = await response.text();
    return {
      status: response.status,
      text,
      retryAfterMs: retryAfterMs(response.headers.get('retry-after')),
      date: response.headers.get('date') ?? undefined,
      location: response.headers.get('location') ?? undefined,
    };
  };
}

/** Allows only addresses that the service may reach. A request that was redirected counts as a redirect. */
export function outboundRequest(fetch: OutboundFetch): HttpRequest {
  return async ({ url, method, headers, body, signal }) => {
    signal.throwIfAborted();
    const response = await fetch({ url, method, headers, ...(body === undefined ? {} : { body }) });
    signal.throwIfAborted();
    const moved = new URL(response.url).href !== new URL(url).href;
    return {
      status: moved ? 308 : response.status,
      text: Buffer.from(response.body).toString('utf8'),
      retryAfterMs: retryAfterMs(response.headers['retry-after']),
      date: response.headers['date'],
      ...(moved ? { location: response.url } : {}),
    };
  };
}
