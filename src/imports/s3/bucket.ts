import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { createHash } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import { credentialsOf } from './credentials.ts';
import { asBucketError } from './errors.ts';

/** Where a bucket is and how to get in. */
export interface BucketSettings {
  readonly bucket: string;
  readonly region: string;
  /** `https://minio.example.com`; undefined: AWS. */
  readonly endpoint?: string;
  /**
   * Without keys requests are not signed (public buckets); `ambient` takes those of the machine (environment, role), which
   * is for buckets that the operator names, never for those that a project names.
   */
  readonly credentials?: BucketKeys | 'ambient';
  /** Of the machine's configuration files; only with `ambient`. */
  readonly profile?: string;
  /** Assumed with the credentials, for the bucket of another account. */
  readonly role?: { readonly arn: string; readonly externalId?: string };
  /** The bucket's name in the path and not in the host's name. Default: whether an endpoint is given. */
  readonly forcePathStyle?: boolean;
  /** The address to connect to for a host and port; throws when it may not be reached. Undefined: any that the name has. */
  readonly resolve?: (host: string, port: number) => Promise<string>;
  /** Tries of one request, with growing pauses. Default 5. */
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
  /** Only this version of the object: BucketError `changed` for another. */
  readonly etag?: string;
  readonly signal?: AbortSignal;
}

/** All throw BucketError, the errors of `resolve`, or the reason of an aborted signal. */
export interface Bucket {
  /** Page by page (up to 1000), sorted by key as the server does it. */
  list(prefix: string, signal?: AbortSignal): AsyncIterable<readonly BucketObject[]>;
  /** A connection that breaks is taken up again where it broke, as long as the object is the same. */
  read(key: string, options?: ReadOptions): AsyncIterable<Buffer>;
  /** In parts of 8 MB; the object is there when this resolves and not before. */
  write(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<{ readonly bytes: number; readonly sha256: string }>;
  remove(keys: readonly string[]): Promise<void>;
  /** Ends idle connections. */
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

/** The SDK is loaded with the first bucket, not with the program. */
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
    // Many servers that speak S3 do not know the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}

/** Every connection goes to an address that was checked for it. */
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

/** AWS speaks TLS. */
function portOf(endpoint: string | undefined): number {
  if (endpoint === undefined) return 443;
  const { protocol, port } = new URL(endpoint);
  return Number(port) || (protocol === 'http:' ? 80 : 443);
}

/** An endpoint that is an address is never looked up, so it is checked before each request. */
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
    const { done, value: page } = await asked(pages.next(), `the bucket ${bucket}`, signal);
    if (done === true) return;
    yield (page.Contents ?? []).map(({ Key = '', Size = 0, ETag = '', LastModified }) => ({
      key: Key,
      bytes: Size,
      etag: ETag,
      modifiedAt: LastModified?.getTime() ?? 0,
    }));
  }
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
        // Sound: the body of an answer in Node is a stream of bytes.
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
  const { Body, ETag } = await asked(client.send(command, sendOptions(signal)), named(key), signal);
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
    // What the caller's own chunks threw stays what it is.
    throw broken ?? asBucketError(error, named(key));
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** One by one: the request for many needs a checksum that not every server takes. */
async function removeObjects({ client, bucket, named }: Connected, keys: readonly string[]): Promise<void> {
  const { DeleteObjectCommand } = await import('@aws-sdk/client-s3');
  for (let from = 0; from < keys.length; from += removedAtOnce) {
    await Promise.all(
      keys.slice(from, from + removedAtOnce).map(async (key) => {
        await asked(client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key })), named(key), undefined);
      }),
    );
  }
}

function sendOptions(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}

async function asked<T>(sent: Promise<T>, what: string, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await sent;
  } catch (error) {
    signal?.throwIfAborted();
    throw asBucketError(error, what);
  }
}
