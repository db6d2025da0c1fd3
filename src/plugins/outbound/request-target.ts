import { OutboundError, type OutboundRequest } from './outbound.ts';

/** One request of a chain of redirects. */
export interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array | string | undefined;
}

/** Headers that belong to the connection; the client sets them. */
const ownHeaders = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const headersMax = 200;
const defaultRedirectsMax = 5;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const headerCharsMax = 64 * 1024;

/** @throws OutboundError `request` or `address` with a sentence that repeats nothing of the query, user or headers */
export function firstHop(request: OutboundRequest, bodyBytesMax: number): Hop {
  const url = parseUrl(request.url);
  const method = (request.method ?? 'GET').toUpperCase();
  if (!/^[A-Z-]{1,20}$/.test(method) || method === 'CONNECT' || method === 'TRACE') {
    throw new OutboundError(
      'request',
      `expected a method such as GET or POST, got: ${JSON.stringify(method.slice(0, 20))}`,
    );
  }
  const { body } = request;
  const bodyBytes = body === undefined ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  if (bodyBytes > bodyBytesMax) {
    throw new OutboundError('limit', `expected a request body of at most ${bodyBytesMax} bytes, got: ${bodyBytes}`);
  }
  const headers = cleanHeaders(request.headers ?? {});
  const credentials = url.username === '' && url.password === '' ? undefined : basicCredentials(url);
  if (credentials !== undefined && !headers.has('authorization')) headers.set('authorization', credentials);
  return { url: withoutUser(url), method, headers, body };
}

/** Builds the request for a redirect. */
function nextHop(hop: Hop, { status, location }: Redirect, mayLeave: (header: string) => boolean): Hop {
  const url = withoutUser(parseUrl(location, hop.url));
  const stays = url.origin === hop.url.origin;
  const headers = new Map([...hop.headers].filter(([name]) => stays || mayLeave(name)));
  const becomesGet =
    (status === 303 && hop.method !== 'HEAD') || ((status === 301 || status === 302) && hop.method === 'POST');
  if (!becomesGet) return { ...hop, url, headers };
  for (const name of headers.keys()) if (name.startsWith('content-')) headers.delete(name);
  return { url, method: 'GET', headers, body: undefined };
}

/** A redirect response. `location` is the unparsed header. */
export interface Redirect {
  readonly status: number;
  readonly location: string;
}

export function redirectOf(status: number, { location }: NodeJS.Dict<string | string[]>): Redirect | undefined {
  return typeof location === 'string' && redirectStatuses.has(status) ? { status, location } : undefined;
}

/** As in the fetch standard; Proxy-Authorization is never sent. */
export function isNoCredential(header: string): boolean {
  return header !== 'authorization' && header !== 'cookie';
}

/** For user-configured headers: any of them may be a secret. */
export function describesBody(header: string): boolean {
  return header === 'accept-encoding' || header === 'content-type';
}

/**
 * Sends a request and follows redirects.
 * @param mayLeave whether a header is sent to another origin
 * @throws OutboundError `limit` when there are too many redirects
 */
export async function followRedirects<Answer extends object>(
  first: Hop,
  mayLeave: (header: string) => boolean,
  ask: (hop: Hop) => Promise<Answer | Redirect>,
  redirectsMax = defaultRedirectsMax,
): Promise<Answer> {
  let hop = first;
  for (let redirects = 0; redirects <= redirectsMax; redirects++) {
    const answer = await ask(hop);
    if (!('location' in answer)) return answer;
    hop = nextHop(hop, answer, mayLeave);
  }
  throw new OutboundError('limit', `expected at most ${redirectsMax} redirects, got more from ${hop.url.origin}`);
}

function parseUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new OutboundError('address', 'expected an absolute URL (https://…), got other text');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new OutboundError('address', `expected an http or https URL, got: ${url.protocol.slice(0, 40)}`);
  }
  return url;
}

function withoutUser(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  bare.hash = '';
  return bare;
}

function basicCredentials({ username, password }: URL): string {
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;
}

/** A lone % is kept, as browsers do. */
function decoded(text: string): string {
  return text.replaceAll(/(%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString());
}

function cleanHeaders(given: Readonly<Record<string, string>>): Map<string, string> {
  const headers = new Map<string, string>();
  let chars = 0;
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(lower)) {
      throw new OutboundError('request', `expected a header name, got: ${JSON.stringify(name.slice(0, 50))}`);
    }
    if (![...value].every(isHeaderCharacter)) {
      throw new OutboundError('request', `expected the header ${lower} to be one line of Latin-1 text`);
    }
    chars += name.length + value.length;
    if (!ownHeaders.has(lower)) headers.set(lower, value.trim());
  }
  if (headers.size > headersMax || chars > headerCharsMax) {
    throw new OutboundError('limit', `expected at most ${headersMax} headers of ${headerCharsMax} characters in total`);
  }
  return headers;
}

function isHeaderCharacter(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return code === 9 || (code >= 32 && code <= 255 && code !== 127);
}
