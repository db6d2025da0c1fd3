import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { createHash } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import { credentialsOf } from './credentials.ts';
import { asBucketError } from './errors.ts';

/** Location and access of a bucket. */
export interface BucketSettings {
  readonly bucket: string;
  readonly region: string;
  /** `https://minio.example.com`; `undefined` for AWS. */
  readonly endpoint?: string;
  /**
   * Without keys, requests are not signed (public buckets). `ambient` uses the credentials of the machine (environment, role),
   * only for buckets that the operator names, never for those that a project names.
   */
  readonly credentials?: BucketKeys | 'ambient';
  /** Profile in the machine's configuration files; only with `ambient`. */
  readonly profile?: string;
  /** A role to assume with the credentials, for a bucket of another account. */
  readonly role?: { readonly arn: string; readonly externalId?: string };
  /** Puts the bucket's name in the path rather than in the host name. Default: if an endpoint is set. */
  readonly forcePathStyle?: boolean;
  /**
   * Returns the address to connect to for a host and port; throws if it must not be contacted. By default any address of the
   * name.
   */
  readonly resolve?: (host: string, port: number) => Promise<string>;
  /** Tries of one request, with back-off. Default 5. */
  readonly attempts?: number;
}

export interface BucketKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface BucketObject {
  readonly key: string;
  readonly bytes: number;
  readonly etag: string;
  /** ms since the epoch. */
  readonly modifiedAt: number;
}

interface ReadOptions {
  /** Half open, in bytes. */
  readonly range?: { readonly start: number; readonly end: number };
  /** Restricts reading to this version; BucketError `changed` for another. */
  readonly etag?: string;
  readonly signal?: AbortSignal;
}

/** All methods throw BucketError, the errors of `resolve`, or the reason of an aborted signal. */
export interface Bucket {
  /** Lists page by page (up to 1000 objects), sorted by key by the server. */
  list(prefix: string, signal?: AbortSignal): AsyncIterable<readonly BucketObject[]>;
  /** Reads an object. Resumes after a broken connection, as long as the object is unchanged. */
  read(key: string, options?: ReadOptions): AsyncIterable<Buffer>;
  /** Writes in parts of 8 MB; the object exists when this resolves and not before. */
  write(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<{ readonly bytes: number; readonly sha256: string }>;
  remove(keys: readonly string[]): Promise<void>;
  /** Checks that objects below the prefix can be listed and written, without writing any. */
  probe(prefix: string): Promise<void>;
  /** Closes idle connections. */
  close(): void;
}

const partBytes = 8 * 1024 * 1024;
const partsAtOnce = 2;
const removedAtOnce = 8;
const resumesMax = 5;
const idleMs = 60_000;

interface Connected {
  readonly client: S3Client;
  readonly bucket: string;
  readonly named: (key: string) => string;
}

/** The SDK is loaded with the first bucket, not at startup. */
export async function connectBucket(settings: BucketSettings): Promise<Bucket> {
  const { S3Client: Client } = await import('@aws-sdk/client-s3');
  const agents = pinnedAgents(settings);
  const requestHandler = { ...agents, requestTimeout: idleMs };
  const client = new Client({
    ...clientConfig(settings),
    ...(await credentialsOf(settings, requestHandler)),
    requestHandler,
  });
  const { bucket } = settings;
  const connected = { client, bucket, named: (key: string) => `the object ${key} of the bucket ${bucket}` };
  const allowed = allowedEndpoint(settings);
  return {
    async *list(prefix, signal) {
      await allowed();
      yield* listPages(connected, prefix, signal);
    },
    async *read(key, options = {}) {
      await allowed();
      yield* readObject(connected, key, options);
    },
    async write(key, chunks) {
      await allowed();
      return await writeObject(connected, key, chunks);
    },
    async remove(keys) {
      await allowed();
      await removeObjects(connected, keys);
    },
    async probe(prefix) {
      await allowed();
      for await (const _ of listPages(connected, prefix, undefined)) break;
      await refusedWrite(connected, `${prefix}millrace-doctor-probe`);
    },
    close() {
      client.destroy();
      agents.httpAgent.destroy();
      agents.httpsAgent.destroy();
    },
  };
}

function clientConfig(settings: BucketSettings): S3ClientConfig {
  const { region, endpoint, forcePathStyle = endpoint !== undefined, attempts = 5 } = settings;
  return {
    region,
    forcePathStyle,
    maxAttempts: attempts,
    // Many S3-compatible servers do not support the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}

/** Every connection uses an address that was checked for it. */
function pinnedAgents({ endpoint, resolve }: BucketSettings): { httpAgent: HttpAgent; httpsAgent: HttpsAgent } {
  const lookup = resolve === undefined ? undefined : pinned((host) => resolve(host, portOf(endpoint)));
  const options = { keepAlive: true, maxSockets: 32, ...(lookup === undefined ? {} : { lookup }) };
  return { httpAgent: new HttpAgent(options), httpsAgent: new HttpsAgent(options) };
}

function pinned(resolve: (host: string) => Promise<string>): LookupFunction {
  return (host, { all }, callback) => {
    void (async () => {
      let address: string;
      try {
        address = await resolve(host);
      } catch (error) {
        callback(error instanceof Error ? error : new Error(String(error)), '');
        return;
      }
      const family = isIP(address);
      if (all === true) callback(null, [{ address, family }]);
      else callback(null, address, family);
    })();
  };
}

/** AWS uses TLS. */
function portOf(endpoint: string | undefined): number {
  if (endpoint === undefined) return 443;
  const { protocol, port } = new URL(endpoint);
  return Number(port) || (protocol === 'http:' ? 80 : 443);
}

/** An endpoint that is an address is never resolved, so it is checked before each request. */
function allowedEndpoint({ endpoint, resolve }: BucketSettings): () => Promise<void> {
  const host = endpoint === undefined ? '' : new URL(endpoint).hostname.replace(/^\[|\]$/g, '');
  return async () => {
    if (resolve !== undefined && isIP(host) !== 0) await resolve(host, portOf(endpoint));
  };
}

async function* listPages(
  { client, bucket }: Connected,
  prefix: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly BucketObject[]> {
  const { paginateListObjectsV2 } = await import('@aws-sdk/client-s3');
  const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix }, sendOptions(signal));
  for (;;) {
    const { done, value: page } = await sent(pages.next(), `the bucket ${bucket}`, signal);
    if (done === true) return;
    yield (page.Contents ?? []).map(({ Key = '', Size = 0, ETag = '', LastModified }) => ({
      key: Key,
      bytes: Size,
      etag: ETag,
      modifiedAt: LastModified?.getTime() ?? 0,
    }));
  }
}

/** A write whose checksum is wrong: a server refuses it, but first it checks whether it may be written at all. */
async function refusedWrite({ client, bucket, named }: Connected, key: string): Promise<void> {
  const { DeleteObjectCommand, PutObjectCommand } = await import('@aws-sdk/client-s3');
  const ContentMD5 = Buffer.alloc(16).toString('base64');
  try {
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: Buffer.alloc(0), ContentMD5 }));
  } catch (error) {
    if (error instanceof Error && /^(BadDigest|InvalidDigest)$/.test(error.name)) return;
    throw asBucketError(error, named(key));
  }
  // A server that does not check it has written the object.
  await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
}

async function* readObject(connected: Connected, key: string, options: ReadOptions): AsyncGenerator<Buffer> {
  const { signal, range } = options;
  let at = range?.start ?? 0;
  let { etag } = options;
  if (range !== undefined && range.end <= range.start) return;
  for (let resumes = 0; ; resumes += 1) {
    const started: { readonly etag: string | undefined; readonly body: Readable } = await getObject(
      connected,
      key,
      { at, end: range?.end, etag },
      signal,
    );
    etag ??= started.etag;
    const before: number = at;
    try {
      for await (const chunk of started.body) {
        // Sound: the body of a response in Node is a stream of bytes.
        const bytes = chunk as Buffer;
        at += bytes.length;
        yield bytes;
      }
      return;
    } catch (error) {
      signal?.throwIfAborted();
      if (at > before) resumes = 0;
      if (resumes >= resumesMax || etag === undefined) throw asBucketError(error, connected.named(key));
    } finally {
      started.body.destroy();
    }
  }
}

async function getObject(
  { client, bucket, named }: Connected,
  key: string,
  { at, end, etag }: { readonly at: number; readonly end: number | undefined; readonly etag: string | undefined },
  signal: AbortSignal | undefined,
): Promise<{ readonly etag: string | undefined; readonly body: Readable }> {
  const { GetObjectCommand } = await import('@aws-sdk/client-s3');
  const range = at === 0 && end === undefined ? undefined : `bytes=${at}-${end === undefined ? '' : end - 1}`;
  const command = new GetObjectCommand({ Bucket: bucket, Key: key, Range: range, IfMatch: etag });
  const { Body, ETag } = await sent(client.send(command, sendOptions(signal)), named(key), signal);
  if (!(Body instanceof Readable)) throw new Error(`expected a stream for ${named(key)}, got none`);
  return { etag: ETag, body: Body };
}

async function writeObject(
  { client, bucket, named }: Connected,
  key: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<{ bytes: number; sha256: string }> {
  const { Upload } = await import('@aws-sdk/lib-storage');
  const hash = createHash('sha256');
  let bytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      hash.update(chunk);
      yield chunk;
    }
  }
  const body = Readable.from(counted(), { objectMode: false });
  let broken: Error | undefined;
  body.on('error', (error) => (broken = error));
  const upload = new Upload({
    client,
    params: { Bucket: bucket, Key: key, Body: body },
    partSize: partBytes,
    queueSize: partsAtOnce,
  });
  try {
    await upload.done();
  } catch (error) {
    // Errors of the caller's chunks pass through.
    throw broken ?? asBucketError(error, named(key));
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Individually: the request for many objects needs a checksum that not every server supports. */
async function removeObjects({ client, bucket, named }: Connected, keys: readonly string[]): Promise<void> {
  const { DeleteObjectCommand } = await import('@aws-sdk/client-s3');
  for (let from = 0; from < keys.length; from += removedAtOnce) {
    await Promise.all(
      keys.slice(from, from + removedAtOnce).map(async (key) => {
        await sent(client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key })), named(key), undefined);
      }),
    );
  }
}

function sendOptions(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}

async function sent<T>(request: Promise<T>, what: string, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await request;
  } catch (error) {
    signal?.throwIfAborted();
    throw asBucketError(error, what);
  }
}
