import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, type Dispatcher } from 'undici';
import type { OutboundStream, OutboundStreamRequest, OutboundStreamResponse } from './outbound.ts';
import type { AllowList } from './allow-list.ts';
import { OutboundError } from './outbound.ts';
import { describesBody, firstHop, followRedirects, redirectOf, type Hop, type Redirect } from './request-target.ts';
import type { Resolver } from './resolve-allowed.ts';
import { describe, drain, flatHeaders, pinnedConnector } from './safe-fetch.ts';

export interface OutboundStreamOptions {
  readonly allow: AllowList;
  /** Connection timeout. Default 15 s. */
  readonly connectTimeoutMs?: number;
  /** Default idle timeout of a request. Default 2 min. */
  readonly idleMs?: number;
  readonly resolver?: Resolver;
  /** Additional certificates to trust (PEM). */
  readonly ca?: string | undefined;
}

/** `close` ends all connections; call it when done. */
export type ClosableStream = OutboundStream & { readonly close: () => Promise<void> };

const requestBytesMax = 16 * 1024 * 1024;
const headerBytesMax = 32 * 1024;
const connectionsPerOriginMax = 16;
const outputBytes = 256 * 1024;

/**
 * Sends requests like `createOutboundFetch`, to the same addresses under the same checks, for responses of any size: the body
 * is streamed and nothing of it is kept. Read a body to its end, or stop reading, which ends the connection. No user-configured
 * header that could be a secret follows a redirect to another origin.
 * Throws OutboundError; when the request's signal is aborted, its reason.
 */
export function createOutboundStream(options: OutboundStreamOptions): ClosableStream {
  const agent = new Agent({
    connect: pinnedConnector({ ...options, timeoutMs: options.connectTimeoutMs ?? 15_000 }),
    connections: connectionsPerOriginMax,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: headerBytesMax,
    keepAliveTimeout: 4000,
  });
  const stream: OutboundStream = async (request) => {
    const idleMs = request.idleMs ?? options.idleMs ?? 120_000;
    return await followRedirects(firstHop(request, requestBytesMax), describesBody, (hop) =>
      send(agent, hop, request, idleMs),
    );
  };
  return Object.assign(stream, { close: () => agent.destroy() });
}

async function send(
  agent: Dispatcher,
  hop: Hop,
  { signal }: OutboundStreamRequest,
  idleMs: number,
): Promise<OutboundStreamResponse | Redirect> {
  const { origin } = hop.url;
  try {
    signal.throwIfAborted();
    const { statusCode, headers, body } = await agent.request({
      origin,
      path: hop.url.pathname + hop.url.search,
      // Sound: any token is a method; undici's type lists the usual ones.
      method: hop.method as Dispatcher.HttpMethod,
      headers: { 'accept-encoding': 'gzip', ...Object.fromEntries(hop.headers) },
      body: hop.body ?? null,
      signal,
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
    });
    const redirect = redirectOf(statusCode, headers);
    if (redirect !== undefined) {
      await drain(body, signal);
      return redirect;
    }
    const flat = flatHeaders(headers);
    return { status: statusCode, headers: flat, body: bodyChunks(body, flat, { origin, signal, idleMs }) };
  } catch (error) {
    throw asOutboundError(error, { origin, signal, idleMs });
  }
}

interface Request {
  readonly origin: string;
  readonly signal: AbortSignal;
  readonly idleMs: number;
}

async function* bodyChunks(
  body: Readable,
  headers: Readonly<Record<string, string>>,
  request: Request,
): AsyncGenerator<Buffer> {
  const decoder = decoderOf(headers['content-encoding'] ?? '', request.origin);
  // An error of the body reaches the reader of the decoder, which the pipeline destroys with it.
  if (decoder !== undefined) pipeline(body, decoder, () => {});
  try {
    // Sound: bodies and decoders yield bytes.
    for await (const chunk of decoder ?? body) yield chunk as Buffer;
  } catch (error) {
    throw asOutboundError(error, request);
  } finally {
    body.destroy();
  }
}

/** Returns `undefined` for an unencoded body. */
function decoderOf(encoding: string, origin: string): Transform | undefined {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity' || name === 'aws-chunked') return undefined;
  if (name === 'gzip' || name === 'x-gzip') return createGunzip({ chunkSize: outputBytes });
  if (name === 'br') return createBrotliDecompress({ chunkSize: outputBytes });
  if (name === 'deflate') return createInflate({ chunkSize: outputBytes });
  throw new OutboundError(
    'network',
    `expected a response of ${origin} in gzip or plain, got the encoding ${name.slice(0, 40)}`,
  );
}

function asOutboundError(error: unknown, { origin, signal, idleMs }: Request): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof OutboundError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new OutboundError('network', `expected a byte from ${origin} within ${idleMs} ms, got none`, {
      cause: error,
    });
  }
  if (code.startsWith('Z_') || code.startsWith('ERR_BROTLI')) {
    const message = `the response of ${origin} is damaged or truncated: its compressed bytes cannot be decoded (${code})`;
    return new OutboundError('network', message, { cause: error });
  }
  return describe(error, origin);
}
