import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { seededRandom } from './draw.ts';

/** What goes wrong, and at which requests; each takes away one of what is left. */
export interface Trouble {
  /** Answers 429 with Retry-After. */
  rateLimited: number;
  /** Answers 503. */
  unavailable: number;
  /** Answers 502 with a page of a proxy, which says nothing of when to come again. */
  badGateway: number;
  /** Answers 404, as if the address did not exist. */
  notFound: number;
  /** Sends half of the body, then resets the connection. */
  reset: number;
  /** Sends half of the body, then nothing more for as long as the other side waits. */
  stalled: number;
  /** Ends the body properly, in the middle of a record. */
  truncated: number;
  /** The gzip data ends early, the answer does not. */
  truncatedGzip: number;
  /** Answers 504 to what is longer than an hour. */
  tooSlow: number;
}

export const noTrouble: Trouble = {
  rateLimited: 0,
  unavailable: 0,
  badGateway: 0,
  notFound: 0,
  reset: 0,
  stalled: 0,
  truncated: 0,
  truncatedGzip: 0,
  tooSlow: 0,
};

/** What the server was asked, for tests that look at requests. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string;
}

export interface ExportRequestOf extends Asked {
  readonly form: URLSearchParams;
}

export type Answer =
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  /** Lines in any order; the server shuffles them at each call. */
  | { readonly lines: readonly string[] }
  | { readonly bytes: Buffer; readonly contentType: string }
  /** Takes the request, and never answers. */
  | { readonly silent: true }
  | { readonly json: unknown };

export type ExportApiOf = (request: ExportRequestOf) => Answer;

export interface ExportServer extends AsyncDisposable {
  readonly url: string;
  readonly trouble: Trouble;
  readonly asked: Asked[];
  /** Gzip around the content, besides the content-encoding. */
  layers: number;
  /** What 429 and 503 say about when to come again. */
  retryAfter: string;
}

/**
 * An export API that misbehaves as real ones do, over real HTTP: never the same order twice, and the trouble that is asked for.
 * The same seed gives the same behaviour.
 */
export async function startExportServer(api: ExportApiOf, seed = 1): Promise<ExportServer> {
  const random = seededRandom(seed);
  const state = { trouble: { ...noTrouble }, asked: [] as Asked[], layers: 0, retryAfter: '0' };
  const server = createServer((request, response) => {
    void answer(request, response);
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = await readRequest(request);
    state.asked.push(asked);
    if (!refused(response, state)) send(response, api(asked), { ...state, random });
  };
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  // Sound: a server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => closed(server),
  });
}

async function readRequest(request: IncomingMessage): Promise<ExportRequestOf> {
  const { method = 'GET', url = '/', headers } = request;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  return {
    method,
    path: pathname,
    query: searchParams,
    authorization: headers.authorization ?? '',
    form: new URLSearchParams(Buffer.concat(chunks).toString('utf8')),
  };
}

function takeOne(trouble: Trouble, kind: keyof Trouble): boolean {
  if (trouble[kind] === 0) return false;
  trouble[kind] -= 1;
  return true;
}

/** Whether the request is refused before anything looks at it. */
function refused(
  response: ServerResponse,
  { trouble, retryAfter }: Pick<ExportServer, 'trouble' | 'retryAfter'>,
): boolean {
  const later = { 'retry-after': retryAfter };
  if (takeOne(trouble, 'rateLimited')) refuse(response, 429, 'Too many requests', later);
  else if (takeOne(trouble, 'unavailable')) refuse(response, 503, 'Service unavailable', later);
  else if (takeOne(trouble, 'badGateway')) refuse(response, 502, '<html>', { 'content-type': 'text/html' });
  else if (takeOne(trouble, 'notFound')) refuse(response, 404, '<html>', { 'content-type': 'text/html' });
  else return false;
  return true;
}

function refuse(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(body);
}

interface Sending {
  readonly trouble: Trouble;
  readonly layers: number;
  readonly random: () => number;
}

function send(response: ServerResponse, answer: Answer, sending: Sending): void {
  if ('status' in answer) return refuse(response, answer.status, answer.body ?? '', answer.headers);
  if ('silent' in answer) return;
  const content = contentOf(answer, sending.random);
  let { bytes } = content;
  if (takeOne(sending.trouble, 'truncated')) {
    const cut = Math.floor(bytes.length * (0.2 + 0.6 * sending.random()));
    // Between two records it would go unnoticed.
    const atLineEnd = bytes.subarray(cut - 1, cut + 1).includes(0x0a);
    bytes = bytes.subarray(0, atLineEnd ? cut - 4 : cut);
  }
  for (let layer = 0; layer < sending.layers; layer += 1) bytes = gzipSync(bytes);
  const zipped = gzipSync(bytes);
  const cut = takeOne(sending.trouble, 'truncatedGzip') ? zipped.subarray(0, Math.floor(zipped.length * 0.6)) : zipped;
  const reset = takeOne(sending.trouble, 'reset');
  const stalled = !reset && takeOne(sending.trouble, 'stalled');
  response.writeHead(200, {
    'content-type': content.contentType,
    'content-encoding': 'gzip',
    ...(reset || stalled ? { 'content-length': String(zipped.length) } : {}),
  });
  if (!reset && !stalled) return void response.end(cut);
  response.write(zipped.subarray(0, Math.floor(zipped.length / 2)), () => void (reset && response.destroy()));
}

function contentOf(answer: Exclude<Answer, { status: number } | { silent: true }>, random: () => number) {
  if ('bytes' in answer) return answer;
  if ('json' in answer) return { bytes: Buffer.from(JSON.stringify(answer.json)), contentType: 'application/json' };
  const lines = shuffled(answer.lines, random).map((line) => `${line}\n`);
  return { bytes: Buffer.from(lines.join('')), contentType: 'application/x-ndjson' };
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
}
