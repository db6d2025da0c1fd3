import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A stand-in for the part of Azure Blob Storage that is used, signatures checked, over real HTTP. */
export interface TestAzureServer extends AsyncDisposable {
  /** With the account in its path. */
  readonly endpoint: string;
  readonly blobs: Map<string, Buffer>;
  /** `GET /account/container/…`, with its range, in order. */
  readonly seen: string[];
  /** The next so many requests are answered 503. */
  slowDown(times: number): void;
  /** The next so many bodies of blobs end after so many bytes with a broken connection. */
  breakAfter(bytes: number, times: number): void;
}

export interface TestAzureOptions {
  readonly account: string;
  readonly container: string;
  /** In base64. */
  readonly key: string;
  readonly sas: string;
}

interface State {
  readonly options: TestAzureOptions;
  readonly blobs: Map<string, Buffer>;
  /** By name of the blob and id. */
  readonly blocks: Map<string, Buffer>;
  slowDowns: number;
  broken: { bytes: number; times: number };
}

const pageSize = 2;

export async function testAzureServer(options: TestAzureOptions): Promise<TestAzureServer> {
  const seen: string[] = [];
  const state: State = { options, blobs: new Map(), blocks: new Map(), slowDowns: 0, broken: { bytes: 0, times: 0 } };
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.range ?? ''}`.trim());
    void answer(state, request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  // Sound: a server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}/${options.account}`,
    blobs: state.blobs,
    seen,
    slowDown: (times) => void (state.slowDowns = times),
    breakAfter: (bytes, times) => void (state.broken = { bytes, times }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function answer(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://azure');
  if (state.slowDowns > 0) {
    state.slowDowns -= 1;
    return fail(response, 503, 'ServerBusy');
  }
  if (!isAllowed(state.options, request, url)) return fail(response, 403, 'AuthenticationFailed');
  const [, account, container, ...rest] = url.pathname.split('/').map(decodeURIComponent);
  if (account !== state.options.account || container !== state.options.container) {
    return fail(response, 404, 'ContainerNotFound');
  }
  if (rest.length === 0) return list(state, url.searchParams, response);
  if (request.method === 'PUT') return put(state, rest.join('/'), url.searchParams, request, response);
  if (request.method === 'DELETE') {
    return void response.writeHead(state.blobs.delete(rest.join('/')) ? 202 : 404).end();
  }
  const content = state.blobs.get(rest.join('/'));
  if (content === undefined) return fail(response, 404, 'BlobNotFound');
  if (request.headers['if-match'] !== etagOf(content)) return fail(response, 412, 'ConditionNotMet');
  send(state, content, request.headers.range, response);
}

function isAllowed({ account, key, sas }: TestAzureOptions, request: IncomingMessage, url: URL): boolean {
  const { authorization } = request.headers;
  if (authorization === undefined) return sas !== '' && url.search.endsWith(sas);
  return authorization === `SharedKey ${account}:${signatureOf({ account, key }, request, url)}`;
}

/** As the vendor's documentation has it; the vendor's own client is let in by it. */
function signatureOf(
  { account, key }: Pick<TestAzureOptions, 'account' | 'key'>,
  { method = '', headers }: IncomingMessage,
  url: URL,
): string {
  // A length of 0 is an empty text since 2015.
  const of = (header: string): string => (headers[header] === '0' ? '' : String(headers[header] ?? ''));
  const standard = ['encoding', 'language', 'length', 'md5', 'type'].map((header) => of(`content-${header}`));
  const conditions = ['date', 'if-modified-since', 'if-match', 'if-none-match', 'if-unmodified-since', 'range'].map(of);
  const own = Object.keys(headers).filter((header) => header.startsWith('x-ms-'));
  const query = [...url.searchParams.keys()].toSorted();
  const text = [
    method,
    ...standard,
    ...conditions,
    ...own.toSorted().map((header) => `${header}:${of(header)}`),
    `/${account}${url.pathname}`,
    ...query.map((each) => `${each}:${url.searchParams.get(each)}`),
  ];
  return createHmac('sha256', Buffer.from(key, 'base64')).update(text.join('\n')).digest('base64');
}

/** A block, or the list of blocks that makes a blob. */
async function put(
  { blobs, blocks }: State,
  name: string,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await buffer(request);
  if (query.get('comp') === 'block') {
    blocks.set(`${name} ${query.get('blockid')}`, body);
  } else {
    const ids = [...body.toString('utf8').matchAll(/<Latest>([^<]*)<\/Latest>/g)].map(([, id]) => `${name} ${id}`);
    if (ids.some((id) => !blocks.has(id))) return fail(response, 400, 'InvalidBlockList');
    blobs.set(name, Buffer.concat(ids.map((id) => blocks.get(id) ?? Buffer.alloc(0))));
  }
  response.writeHead(201).end();
}

function list({ blobs }: State, query: URLSearchParams, response: ServerResponse): void {
  const after = query.get('marker') ?? '';
  const names = [...blobs.keys()].filter((name) => name.startsWith(query.get('prefix') ?? '') && name > after);
  const page = names.toSorted().slice(0, pageSize);
  const items = page.map((name) => {
    const content = blobs.get(name) ?? Buffer.alloc(0);
    const about = `<Etag>${etagOf(content).slice(1, -1)}</Etag><Content-Length>${content.length}</Content-Length>`;
    return `<Blob><Name>${escaped(name)}</Name><Properties>${about}</Properties></Blob>`;
  });
  const next = names.length > page.length ? `<NextMarker>${escaped(page.at(-1) ?? '')}</NextMarker>` : '<NextMarker />';
  xml(response, 200, `<EnumerationResults><Blobs>${items.join('')}</Blobs>${next}</EnumerationResults>`);
}

function send(state: State, content: Buffer, range: string | undefined, response: ServerResponse): void {
  const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  const body = content.subarray(start);
  response.writeHead(range === undefined ? 200 : 206, { 'content-length': body.length, etag: etagOf(content) });
  if (state.broken.times === 0) return void response.end(body);
  state.broken.times -= 1;
  response.write(body.subarray(0, state.broken.bytes), () => setTimeout(() => response.destroy(), 20));
}

function etagOf(content: Buffer): string {
  return `"0x${createHash('md5').update(content).digest('hex').slice(0, 15).toUpperCase()}"`;
}

function fail(response: ServerResponse, status: number, code: string): void {
  xml(response, status, `<Error><Code>${code}</Code><Message>stand-in</Message></Error>`);
}

function xml(response: ServerResponse, status: number, body: string): void {
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(`<?xml version="1.0" encoding="utf-8"?>${body}`);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
