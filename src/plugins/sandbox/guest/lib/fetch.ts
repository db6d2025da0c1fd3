import type { Bridge } from './bridge.ts';
import { Body, FetchError, HeldBody } from './fetch-body.ts';
import { Headers } from './headers.ts';
import { Request, type RequestInit } from './request.ts';
import { Response } from './response.ts';
import type { Payload } from './wire.ts';

/** Result of the op `fetch`. A failure is a value, so that its kind is preserved. */
export type FetchAnswer =
  | {
      readonly ok: true;
      readonly status: number;
      readonly statusText: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly url: string;
      readonly body: Payload;
    }
  | { readonly ok: false; readonly type: string; readonly code: string; readonly message: string };

interface FetchCall {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Payload | null;
  readonly timeoutMs: number | null;
}

export type GuestFetch = (input: unknown, init?: RequestInit) => Promise<Response>;

/** fetch as in node-fetch 2: any response is a Response, a missing one a FetchError. */
export function createFetch(bridge: Bridge): GuestFetch {
  const fetch: GuestFetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.redirect === 'manual') {
      throw new TypeError('expected redirect: "follow" or "error", got "manual": redirects are followed outside');
    }
    const answer = (await bridge.call('fetch', [callOf(request)])) as FetchAnswer;
    if (!answer.ok) throw failure(request, answer);
    const redirected = answer.url !== request.url;
    if (redirected && request.redirect === 'error') {
      throw new FetchError(`redirect mode is set to error: ${request.url}`, 'no-redirect');
    }
    return new Response(new HeldBody(answer.body), { ...answer, redirected });
  };
  return Object.assign(fetch, { default: fetch, Headers, Request, Response, FetchError });
}

function callOf(request: Request): FetchCall {
  return {
    url: request.url,
    method: request.method,
    headers: Object.fromEntries(request.headers),
    body: Body.held(request).payload,
    timeoutMs: Number.isFinite(request.timeout) && request.timeout > 0 ? request.timeout : null,
  };
}

function failure(request: Request, answer: Extract<FetchAnswer, { ok: false }>): FetchError {
  return new FetchError(
    `request to ${withoutSecrets(request.url)} failed, reason: ${answer.message}`,
    answer.type,
    answer.code,
  );
}

/** Removes keys, which are often in the query or before the `@`; errors are visible to more users than configs. */
function withoutSecrets(url: string): string {
  return url.replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1');
}
