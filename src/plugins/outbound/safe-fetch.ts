import type { LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import { Agent, buildConnector, errors, type Dispatcher } from 'undici';
import type { AllowList } from './allow-list.ts';
import { trusting } from './extra-ca.ts';
import { OutboundError, type OutboundFetch, type OutboundResponse } from './outbound.ts';
import { readBody } from './read-body.ts';
import { firstHop, followRedirects, isNoCredential, redirectOf, type Hop, type Redirect } from './request-target.ts';
import { resolveAllAllowed, systemResolver, type ResolvedAddress, type Resolver } from './resolve-allowed.ts';

/** The options for connecting. */
type ConnectOptions = Pick<OutboundOptions, 'allow' | 'timeoutMs' | 'resolver' | 'ca'>;

export interface OutboundOptions {
  readonly allow: AllowList;
  /** Limit of a whole request: look-up, connection, redirects, body. */
  readonly timeoutMs: number;
  /** Limit of a decompressed response, and of a request body. */
  readonly bytesMax: number;
  readonly resolver?: Resolver;
  /** Additional certificates to trust (PEM). */
  readonly ca?: string | undefined;
  /** Default: 5. */
  readonly redirectsMax?: number;
}

/** `close` ends idle connections; call it when done. */
export type ClosableFetch = OutboundFetch & { readonly close: () => Promise<void> };

const headerBytesMax = 32 * 1024;
const connectionsPerOriginMax = 32;
const drainMsMax = 200;
const drainBytesMax = 16 * 1024;

/**
 * Sends requests to public addresses and to those on the allow list. Every connection, also of a redirect, goes to an address
 * that was checked for that connection, so a name with changing addresses gains nothing. The response's headers are
 * unchanged; its body is decoded.
 */
export function createOutboundFetch(options: OutboundOptions): ClosableFetch {
  const agent = new Agent({
    connect: pinnedConnector(options),
    connections: connectionsPerOriginMax,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: headerBytesMax,
    // The request as a whole has a timeout.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 4000,
    keepAliveMaxTimeout: 30_000,
  });
  const fetch: OutboundFetch = async (request) => {
    const timeoutMs = Math.max(1, Math.min(request.timeoutMs ?? options.timeoutMs, options.timeoutMs));
    const signal = AbortSignal.timeout(timeoutMs);
    const ask = (hop: Hop) => inTime(hop, timeoutMs, signal, () => send(agent, hop, signal, options.bytesMax));
    return await followRedirects(firstHop(request, options.bytesMax), isNoCredential, ask, options.redirectsMax);
  };
  return Object.assign(fetch, { close: () => agent.destroy() });
}

async function send(
  agent: Dispatcher,
  hop: Hop,
  signal: AbortSignal,
  bytesMax: number,
): Promise<OutboundResponse | Redirect> {
  const {
    statusCode: status,
    statusText,
    headers,
    body,
  } = await agent.request({
    origin: hop.url.origin,
    path: hop.url.pathname + hop.url.search,
    // Sound: any token is a method; undici's type lists the usual ones.
    method: hop.method as Dispatcher.HttpMethod,
    headers: { 'accept-encoding': 'gzip, deflate, br', ...Object.fromEntries(hop.headers) },
    body: hop.body ?? null,
    signal,
  });
  const redirect = redirectOf(status, headers);
  if (redirect !== undefined) {
    await drain(body, signal);
    return redirect;
  }
  const flat = flatHeaders(headers);
  const bytes = await readBody(body, flat['content-encoding'] ?? '', bytesMax);
  return { status, statusText, headers: flat, body: bytes, url: hop.url.href };
}

/** Reads the body of a redirect so that the connection can be reused; a long one costs the connection. */
export async function drain(body: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<void> {
  const soon = AbortSignal.timeout(drainMsMax);
  try {
    await body.dump({ limit: drainBytesMax, signal: AbortSignal.any([signal, soon]) });
  } catch (error) {
    if (signal.aborted || !soon.aborted) throw error;
  }
}

export function flatHeaders(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value = '']): [string, string] => [
    name,
    typeof value === 'string' ? value : value.join(', '),
  ]);
  return Object.fromEntries(entries);
}

/** Resolves and checks for each new connection, and connects only to checked addresses. */
export function pinnedConnector(options: ConnectOptions): buildConnector.connector {
  const secureContext = options.ca === undefined ? undefined : trusting(options.ca);
  return (target, callback) => {
    void connectPinned({ ...options, secureContext }, target, callback);
  };
}

type Connect = Parameters<buildConnector.connector>;

async function connectPinned(
  options: ConnectOptions & { readonly secureContext: SecureContext | undefined },
  target: Connect[0],
  callback: Connect[1],
): Promise<void> {
  const { allow, timeoutMs, resolver = systemResolver, secureContext } = options;
  const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
  let addresses: Awaited<ReturnType<typeof resolveAllAllowed>>;
  try {
    addresses = await resolveAllAllowed(target.hostname, port, allow, resolver);
  } catch (error) {
    callback(error instanceof Error ? error : new Error(String(error)), null);
    return;
  }
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    maxCachedSessions: 0,
    autoSelectFamily: true,
    lookup: pinnedLookup(addresses),
    ...(secureContext === undefined ? {} : { secureContext }),
  });
  connect(target, callback);
}

function pinnedLookup(addresses: readonly [ResolvedAddress, ...ResolvedAddress[]]): LookupFunction {
  return (_name, { all }, callback) => {
    if (all === true) callback(null, [...addresses]);
    else callback(null, addresses[0].address, addresses[0].family);
  };
}

/** Converts errors to OutboundError. Name resolution cannot be cancelled, so the time is also limited here. */
async function inTime<T>(hop: Hop, timeoutMs: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    signal.throwIfAborted();
    return await Promise.race([work(), aborted.promise]);
  } catch (error) {
    if (error instanceof OutboundError) throw error;
    const { origin } = hop.url;
    if (signal.aborted) {
      throw new OutboundError('limit', `expected a response from ${origin} within ${timeoutMs} ms, got none`, {
        cause: error,
      });
    }
    throw describe(error, origin);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Describes the error of a connection. */
export function describe(error: unknown, origin: string): OutboundError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    const message = `expected headers of at most ${headerBytesMax} bytes from ${origin}, got more`;
    return new OutboundError('limit', message, { cause: error });
  }
  if (code === 'UND_ERR_INVALID_ARG') {
    return new OutboundError('request', `expected a valid request to ${origin}: check method, headers and body`, {
      cause: error,
    });
  }
  return new OutboundError('network', `the request to ${origin} failed: ${reasonOf(error, code)}`, { cause: error });
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  UND_ERR_SOCKET: 'the connection was closed before the response was complete',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the response does not have its stated length',
};

function reasonOf(error: unknown, code: string): string {
  const known = reasons[code];
  if (known !== undefined) return `${known} (${code})`;
  if (error instanceof errors.HTTPParserError) return 'the response is not valid HTTP';
  return /^[A-Z][A-Z0-9_]*$/.test(code) ? code : error instanceof Error ? error.name : 'unknown error';
}
