import { OutboundError, type OutboundFetch, type OutboundResponse } from '../../../plugins/outbound/outbound.ts';
import { CarrierError } from './carrier.ts';

const timeoutMs = 15_000;

/** Posts JSON to a user-supplied address: public ones, and those that the operator allows. Throws CarrierError. */
export async function postJson(
  fetch: OutboundFetch,
  url: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const all = { 'content-type': 'application/json', 'user-agent': 'Millrace', ...headers };
  const answer = await reach(fetch, { url, method: 'POST', headers: all, body, timeoutMs });
  // A redirect may have been followed without the body.
  if (new URL(answer.url).href !== new URL(url).href) {
    const message = `expected a response from ${new URL(url).origin} itself, got a redirect; use the address that it leads to`;
    throw new CarrierError(message, { retry: false });
  }
  if (answer.status >= 200 && answer.status < 300) return;
  throw new CarrierError(`expected a 2xx response from ${new URL(url).origin}, got ${answer.status}`, { retry: true });
}

async function reach(fetch: OutboundFetch, request: Parameters<OutboundFetch>[0]): Promise<OutboundResponse> {
  try {
    return await fetch(request);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw new CarrierError(error.message, { retry: error.retry, cause: error });
  }
}
