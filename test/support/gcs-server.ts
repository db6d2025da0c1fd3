import { createVerify, generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';

/** A stand-in for the part of Google Cloud Storage that is used, tokens included, over real HTTP. */
export interface TestGcsServer extends AsyncDisposable {
  readonly endpoint: string;
  /** The JSON of a service account whose tokens it takes. */
  readonly keyFile: string;
  /** What the login of a person leaves on a machine. */
  readonly loginFile: string;
  /** Overwriting one gives it another generation. */
  put(name: string, content: Buffer | string): void;
  /** Contents of the objects. */
  contents(): ReadonlyMap<string, Buffer>;
  /** `GET /storage/v1/…`, with its range, in order. */
  readonly seen: string[];
  /** The next so many requests are answered 503. */
  slowDown(times: number): void;
  /** The next so many bodies of objects end after so many bytes with a broken connection. */
  breakAfter(bytes: number, times: number): void;
}

interface Stored {
  readonly content: Buffer;
  readonly generation: string;
}

interface State {
  readonly bucket: string;
  readonly objects: Map<string, Stored>;
  /** Pieces of unfinished uploads. */
  readonly uploads: Map<string, Buffer[]>;
  readonly publicKey: string;
  slowDowns: number;
  broken: { bytes: number; times: number };
  tokens: number;
}

const pageSize = 2;
const refreshToken = 'refresh-token-of-a-person';

export async function testGcsServer(bucket: string): Promise<TestGcsServer> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const seen: string[] = [];
  const state: State = {
    bucket,
    objects: new Map(),
    uploads: new Map(),
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    slowDowns: 0,
    broken: { bytes: 0, times: 0 },
    tokens: 0,
  };
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.range ?? ''}`.trim());
    void answer(state, request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  // Sound: a server that listens on a port has an AddressInfo.
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let generation = 1_700_000_000_000_000;
  return {
    endpoint,
    keyFile: JSON.stringify({
      type: 'service_account',
      client_email: 'importer@example.iam.gserviceaccount.com',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      token_uri: `${endpoint}/token`,
    }),
    loginFile: JSON.stringify({
      type: 'external_account_authorized_user',
      audience: '//iam.googleapis.com/locations/global/workforcePools/example/providers/example',
      client_id: 'gcloud',
      client_secret: 'secret-of-gcloud',
      refresh_token: refreshToken,
      token_url: `${endpoint}/token`,
    }),
    put(name, content) {
      generation += 1;
      state.objects.set(name, { content: Buffer.from(content), generation: String(generation) });
    },
    contents: () => new Map([...state.objects].map(([name, { content }]) => [name, content])),
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
  const url = new URL(request.url ?? '/', 'http://storage');
  if (url.pathname === '/token') return giveToken(state, new URLSearchParams(await text(request)), response);
  if (state.slowDowns > 0) {
    state.slowDowns -= 1;
    return reply(response, 503, { error: { code: 503, message: 'Backend Error' } });
  }
  if (request.headers.authorization !== `Bearer token-${state.tokens}`) {
    return reply(response, 401, { error: { code: 401, message: `Invalid Credentials` } });
  }
  if (url.pathname.startsWith('/upload/')) return upload(state, request, url, response);
  const [, bucket, object] = /^\/(?:download\/)?storage\/v1\/b\/([^/]+)\/o(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
  if (bucket !== state.bucket) return reply(response, 404, { error: { code: 404, message: 'no such bucket' } });
  if (object === undefined) return list(state, url.searchParams, response);
  if (request.method === 'DELETE') {
    return reply(response, state.objects.delete(decodeURIComponent(object)) ? 204 : 404, undefined);
  }
  const stored = state.objects.get(decodeURIComponent(object));
  if (stored === undefined || stored.generation !== url.searchParams.get('generation')) {
    return reply(response, 404, { error: { code: 404, message: 'No such object' } });
  }
  send(state, stored.content, request.headers.range, response);
}

/** A resumable upload: the object exists with its last piece. */
async function upload(state: State, request: IncomingMessage, url: URL, response: ServerResponse): Promise<void> {
  const name = url.searchParams.get('name') ?? '';
  if (!url.pathname.includes(`/b/${state.bucket}/o`)) {
    return reply(response, 404, { error: { code: 404, message: 'no such bucket' } });
  }
  if (request.method === 'POST') {
    state.uploads.set(name, []);
    url.searchParams.set('upload_id', '1');
    response.writeHead(200, { location: `http://${request.headers.host}${url.pathname}${url.search}` }).end();
    return;
  }
  const pieces = state.uploads.get(name) ?? [];
  const [, from, , total] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(request.headers['content-range'] ?? '') ?? [];
  const received = Buffer.concat(pieces).length;
  if (Number(from ?? received) !== received) {
    return reply(response, 400, { error: { code: 400, message: 'expected the next piece' } });
  }
  pieces.push(await buffer(request));
  const content = Buffer.concat(pieces);
  if (total === '*' || Number(total) !== content.length) return void response.writeHead(308).end();
  state.uploads.delete(name);
  state.objects.set(name, { content, generation: '1' });
  reply(response, 200, { name });
}

function giveToken(state: State, form: URLSearchParams, response: ServerResponse): void {
  const isKnown = form.get('grant_type') === 'refresh_token' ? isLogin(form) : isSignedBy(state, form);
  if (!isKnown) return reply(response, 400, { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' });
  state.tokens += 1;
  reply(response, 200, { access_token: `token-${state.tokens}`, expires_in: 3599, token_type: 'Bearer' });
}

function isLogin(form: URLSearchParams): boolean {
  return form.get('refresh_token') === refreshToken;
}

function isSignedBy(state: State, form: URLSearchParams): boolean {
  const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
  return createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(state.publicKey, signature, 'base64url');
}

function list({ objects }: State, query: URLSearchParams, response: ServerResponse): void {
  const after = query.get('pageToken') ?? '';
  const names = [...objects.keys()].filter((name) => name.startsWith(query.get('prefix') ?? '') && name > after);
  const page = names.toSorted().slice(0, pageSize);
  const items = page.map((name) => {
    const { content, generation } = objects.get(name) ?? { content: Buffer.alloc(0), generation: '' };
    return { name, size: String(content.length), generation };
  });
  const last = page.at(-1);
  reply(response, 200, { items, ...(names.length > page.length && last !== undefined ? { nextPageToken: last } : {}) });
}

function send(state: State, content: Buffer, range: string | undefined, response: ServerResponse): void {
  const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  const body = content.subarray(start);
  response.writeHead(range === undefined ? 200 : 206, { 'content-length': body.length });
  if (state.broken.times === 0) return void response.end(body);
  state.broken.times -= 1;
  response.write(body.subarray(0, state.broken.bytes), () => setTimeout(() => response.destroy(), 20));
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
