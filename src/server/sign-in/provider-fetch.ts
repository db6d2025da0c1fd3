import type { CustomFetch } from 'openid-client';
import type { OutboundFetch } from '../../plugins/outbound/outbound.ts';

/** Responses that must not have a body. */
const withoutBody = new Set([204, 205, 304]);

/** Sends the requests of openid-client with the limits of `fetch` on time, size and redirects. */
export function providerFetch(fetch: OutboundFetch): CustomFetch {
  return async (url, { method, headers, body }) => {
    const sent = await bodyOf(body);
    const answer = await fetch({ url, method, headers, ...(sent !== undefined && { body: sent }) });
    // The body is decoded already.
    const { 'content-encoding': _encoding, 'content-length': _length, ...rest } = answer.headers;
    const content = withoutBody.has(answer.status) ? null : Buffer.from(answer.body);
    return new Response(content, { status: answer.status, statusText: answer.statusText, headers: rest });
  };
}

async function bodyOf(body: Parameters<CustomFetch>[1]['body']): Promise<string | undefined> {
  if (body === undefined || body === null) return undefined;
  return typeof body === 'string' ? body : await new Response(body).text();
}
