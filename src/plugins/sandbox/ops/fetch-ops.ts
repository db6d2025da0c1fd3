import { isUtf8 } from 'node:buffer';
import type { OutboundFetch, OutboundRequest } from '../../outbound/outbound.ts';
import { limitRequests, type RequestLimits } from '../../outbound/limit-requests.ts';
import { OutboundError } from '../../outbound/outbound.ts';
import type { FetchAnswer } from '../guest/lib/fetch.ts';
import type { Payload } from '../guest/lib/wire.ts';
import { dataArgument, recordArgument, textArgument, wholeNumberArgument } from './arguments.ts';
import type { AsyncOps } from './ops.ts';

/** Of one config. More at once wait for their turn, more per minute are refused. */
const requestLimits: RequestLimits = { atOnce: 20, perMinute: 600 };

const headersMax = 100;
const bodyBytesMax = 16_777_216;

export function createFetchOps(outbound: OutboundFetch, limits: RequestLimits = requestLimits): AsyncOps {
  const limited = limitRequests(outbound, limits);
  return {
    fetch: async ([call]): Promise<FetchAnswer> => {
      const request = requestOf(call);
      try {
        const response = await limited(request);
        return { ok: true, ...response, body: payloadOf(response.body) };
      } catch (error) {
        if (error instanceof OutboundError) return failureOf(error);
        throw error;
      }
    },
  };
}

function requestOf(call: unknown): OutboundRequest {
  const { url, method, headers, body, timeoutMs } = recordArgument(call, 'the request');
  return {
    url: textArgument(url, 'the URL', 65_536),
    method: textArgument(method, 'the method', 32),
    headers: headersOf(headers),
    ...(body !== null && { body: dataArgument(body, 'the body', bodyBytesMax) }),
    ...(timeoutMs !== null && { timeoutMs: Math.ceil(numberOfMs(timeoutMs)) }),
  };
}

function numberOfMs(value: unknown): number {
  return wholeNumberArgument(typeof value === 'number' ? Math.ceil(value) : value, 'timeout', 1, 2 ** 31 - 1);
}

function headersOf(given: unknown): Record<string, string> {
  const entries = Object.entries(recordArgument(given, 'the headers'));
  if (entries.length > headersMax) {
    throw new RangeError(`expected at most ${headersMax} headers, got ${entries.length}`);
  }
  return Object.fromEntries(entries.map(([name, value]) => [name, textArgument(value, `the header ${name}`, 16_384)]));
}

function payloadOf(body: Uint8Array): Payload {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') };
}

const codes = { address: 'EADDRNOTALLOWED', limit: 'ELIMIT', network: 'ENETWORK', request: 'EINVAL' } as const;

function failureOf(error: OutboundError): FetchAnswer {
  return {
    ok: false,
    type: error.kind === 'limit' ? 'request-timeout' : 'system',
    code: causeCode(error.cause) ?? codes[error.kind],
    message: error.message,
  };
}

/** `ECONNREFUSED` and the like. */
function causeCode(cause: unknown): string | undefined {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
  return typeof code === 'string' ? code : undefined;
}
