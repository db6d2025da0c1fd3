import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A stand-in that speaks the part of S3 that is used, path style, over real HTTP. */
export interface TestBucketServer extends AsyncDisposable {
  readonly endpoint: string;
  readonly objects: Map<string, Buffer>;
  /** `PUT /bucket/key?query`, in order. */
  readonly seen: string[];
  /** The next so many requests are answered 503 SlowDown. */
  slowDown(times: number): void;
  /** The next so many bodies of objects end after so many bytes with a broken connection. */
  breakAfter(bytes: number, times: number): void;
  /** Uploads in parts that were begun and neither completed nor aborted. */
  readonly uploads: ReadonlyMap<string, ReadonlyMap<number, Buffer>>;
}

export interface TestBucketOptions {
  readonly bucket: string;
  /** Undefined: requests must not be signed. */
  readonly accessKeyId?: string;
  /** The role: who may assume it and on whose behalf; its keys are then the only ones with access to the bucket. */
  readonly role?: { readonly arn: string; readonly externalId?: string };
  /** Keys in a page of a listing. */
  readonly pageSize?: number;
  /** Whether objects cannot be written. */
  readonly isReadOnly?: boolean;
}

interface State {
  readonly options: TestBucketOptions;
  readonly objects: Map<string, Buffer>;
  readonly uploads: Map<string, Map<number, Buffer>>;
  slowDowns: number;
  broken: { bytes: number; times: number };
}

export async function testBucketServer(options: TestBucketOptions): Promise<TestBucketServer> {
  const seen: string[] = [];
  const state: State = {
    options,
    objects: new Map(),
    uploads: new Map(),
    slowDowns: 0,
    broken: { bytes: 0, times: 0 },
  };
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    void answer(state, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // Sound: a server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects: state.objects,
    uploads: state.uploads,
    seen,
    slowDown: (times) => (state.slowDowns = times),
    breakAfter: (bytes, times) => (state.broken = { bytes, times }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://bucket');
  const [, bucket = '', ...rest] = url.pathname.split('/').map(decodeURIComponent);
  const key = rest.join('/');
  const body = await bodyOf(request);
  if (state.slowDowns > 0) {
    state.slowDowns -= 1;
    return fail(response, 503, 'SlowDown');
  }
  if (body.toString('latin1', 0, 100).includes('Action=AssumeRole')) return assumeRole(state, request, body, response);
  if (!isAllowed(state, request)) return fail(response, 403, 'InvalidAccessKeyId');
  if (bucket !== state.options.bucket) return fail(response, 404, 'NoSuchBucket');
  if (request.method === 'GET' && key === '') return list(state, url.searchParams, response);
  if (request.method === 'GET') return get(state, key, request, response);
  if (request.method === 'DELETE') return remove(state, key, url.searchParams, response);
  if (request.method === 'PUT' && state.options.isReadOnly === true) return fail(response, 403, 'AccessDenied');
  if (request.method === 'PUT' && !hasDigest(request, body)) return fail(response, 400, 'BadDigest');
  if (request.method === 'PUT') return put(state, key, url.searchParams, body, response);
  return post(state, key, url.searchParams, response);
}

function hasDigest({ headers }: IncomingMessage, body: Buffer): boolean {
  const digest = headers['content-md5'];
  return digest === undefined || digest === createHash('md5').update(body).digest('base64');
}

function isAllowed({ options }: State, { headers }: IncomingMessage): boolean {
  const signature = headers.authorization ?? '';
  if (options.accessKeyId === undefined) return signature === '';
  const keyId = options.role === undefined ? options.accessKeyId : roleKeyId;
  if (options.role !== undefined && headers['x-amz-security-token'] !== roleToken) return false;
  const scope = new RegExp(`^AWS4-HMAC-SHA256 Credential=${keyId}/.*Signature=[0-9a-f]{64}$`);
  return scope.test(signature);
}

const roleKeyId = 'ASIAROLE';
const roleToken = 'token-of-the-role';

/** Like the token service: the caller must be known and the external id correct. */
function assumeRole({ options }: State, { headers }: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const form = new URLSearchParams(body.toString());
  const isKnown = headers.authorization?.includes(`Credential=${options.accessKeyId}/`) === true;
  const isRight =
    form.get('RoleArn') === options.role?.arn && form.get('ExternalId') === (options.role?.externalId ?? null);
  if (!isKnown || !isRight) {
    return xml(
      response,
      403,
      '<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code></Error></ErrorResponse>',
    );
  }
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const keys = `<AccessKeyId>${roleKeyId}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>${roleToken}</SessionToken>`;
  const result = `<AssumeRoleResult><Credentials>${keys}<Expiration>${until}</Expiration></Credentials></AssumeRoleResult>`;
  xml(response, 200, `<AssumeRoleResponse>${result}</AssumeRoleResponse>`);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function list({ objects, options }: State, query: URLSearchParams, response: ServerResponse): void {
  const prefix = query.get('prefix') ?? '';
  const after = query.get('continuation-token') ?? '';
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted();
  const page = keys.slice(0, options.pageSize ?? 1000);
  const more = keys.length > page.length;
  const contents = page.map((key) => {
    const content = objects.get(key) ?? Buffer.alloc(0);
    return `<Contents><Key>${escaped(key)}</Key><Size>${content.length}</Size><ETag>${escaped(etagOf(content))}</ETag><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>`;
  });
  const next = more ? `<NextContinuationToken>${escaped(page.at(-1) ?? '')}</NextContinuationToken>` : '';
  xml(
    response,
    200,
    `<ListBucketResult><IsTruncated>${more}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`,
  );
}

function get(state: State, key: string, { headers }: IncomingMessage, response: ServerResponse): void {
  const content = state.objects.get(key);
  if (content === undefined) return fail(response, 404, 'NoSuchKey');
  const etag = etagOf(content);
  if (headers['if-match'] !== undefined && headers['if-match'] !== etag) {
    return fail(response, 412, 'PreconditionFailed');
  }
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
  const start = Number(from ?? 0);
  const end = to === undefined || to === '' ? content.length : Math.min(Number(to) + 1, content.length);
  if (from !== undefined && start >= content.length) return fail(response, 416, 'InvalidRange');
  const part = content.subarray(start, end);
  response.writeHead(from === undefined ? 200 : 206, {
    etag,
    'content-length': part.length,
    'content-range': `bytes ${start}-${end - 1}/${content.length}`,
  });
  if (state.broken.times === 0) {
    response.end(part);
    return;
  }
  state.broken.times -= 1;
  response.write(part.subarray(0, state.broken.bytes), () => setTimeout(() => response.destroy(), 20));
}

function put(state: State, key: string, query: URLSearchParams, body: Buffer, response: ServerResponse): void {
  const upload = query.get('uploadId');
  if (upload === null) state.objects.set(key, body);
  else {
    const parts = state.uploads.get(upload);
    if (parts === undefined) return fail(response, 404, 'NoSuchUpload');
    parts.set(Number(query.get('partNumber')), body);
  }
  response.writeHead(200, { etag: etagOf(body) }).end();
}

function post(state: State, key: string, query: URLSearchParams, response: ServerResponse): void {
  if (query.has('uploads')) {
    const id = randomUUID();
    state.uploads.set(id, new Map());
    return xml(
      response,
      200,
      `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    );
  }
  const id = query.get('uploadId') ?? '';
  const parts = state.uploads.get(id);
  if (parts === undefined) return fail(response, 404, 'NoSuchUpload');
  const ordered = [...parts].toSorted(([a], [b]) => a - b).map(([, part]) => part);
  state.objects.set(key, Buffer.concat(ordered));
  state.uploads.delete(id);
  xml(response, 200, '<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>');
}

function remove(state: State, key: string, query: URLSearchParams, response: ServerResponse): void {
  const upload = query.get('uploadId');
  if (upload === null) state.objects.delete(key);
  else state.uploads.delete(upload);
  response.writeHead(204).end();
}

function etagOf(content: Buffer): string {
  return `"${createHash('md5').update(content).digest('hex')}"`;
}

function fail(response: ServerResponse, status: number, code: string): void {
  xml(response, status, `<Error><Code>${code}</Code><Message>stand-in</Message></Error>`);
}

function xml(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?>${body}`);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
