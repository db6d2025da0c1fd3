import { promisify } from 'node:util';
import { gunzip as gunzipInThread, gunzipSync, type ZlibOptions } from 'node:zlib';
import { ApiError } from '../contract/errors.ts';

export interface InflateLimits {
  readonly inflatedBytesMax: number;
}

/** Unpacks a gzip body. Throws as `gunzip` does. */
export type Gunzip = (bytes: Buffer, limits: InflateLimits) => Promise<Buffer>;

/** What zlib returns with `info: true`. */
interface Inflated {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

/** Deflate expands at most 1032 times, so no trailer justifies a larger allocation. */
const expansionMax = 1032;
const gzipBytesMin = 18;
const chunkBytesMin = 1024;
/** Prevents unpacking a large body with a tiny claimed size in thousands of chunks. */
const chunkBytesWorthIt = 64 * 1024;
/**
 * In another thread each chunk is a round trip and a turn of the event loop. A body with a tiny claimed size must not cause
 * thousands of them while large bodies queue behind it.
 */
const chunkBytesInThreadMin = 2 * 1024 * 1024;
/** One chunk for the claimed size, because several would be concatenated on the event loop. Unwritten pages take no memory. */
const chunkBytesMax = 256 * 1024 * 1024;
/** Up to this size unpacking takes a few milliseconds, which costs less on the event loop than a round trip to another thread. */
const inPlaceBytesMax = 4 * 1024 * 1024;

export function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/**
 * Unpacks a gzip body with one or several members (RFC 1952). Its last four bytes claim the size, which permits a single
 * allocation; zlib checks the claim, and the limits apply in any case.
 * Throws ApiError 400 for a damaged body, 413 above the limit.
 */
export function gunzip(bytes: Buffer, limits: InflateLimits): Buffer {
  const options = optionsFor(bytes, limits);
  try {
    return checked(bytes, gunzipSync(bytes, options) as unknown as Inflated);
  } catch (cause) {
    throw refusalOf(cause, limits);
  }
}

/** Like `gunzip`, but in another thread if the body may be large, one at a time so that their memory does not add up. */
export function createGunzipper(): Gunzip {
  let last: Promise<unknown> = Promise.resolve();
  return (bytes, limits) => {
    if (bytes.length * expansionMax <= inPlaceBytesMax) return Promise.try(gunzip, bytes, limits);
    const claimed = bytes.length < gzipBytesMin ? 0 : bytes.readUInt32LE(bytes.length - 4);
    // Gzip hardly enlarges anything: a body that claims less than its own size has several members, is damaged or a bomb.
    const isPlausible = bytes.length <= claimed + claimed / 1000 + 1024;
    if (isPlausible && claimed <= inPlaceBytesMax && limits.inflatedBytesMax > inPlaceBytesMax) {
      try {
        return Promise.resolve(gunzip(bytes, { inflatedBytesMax: inPlaceBytesMax }));
      } catch (error) {
        // Larger than claimed: several members, damage or a bomb. The thread decides with the full limit.
        if (!(error instanceof ApiError) || error.code !== 'request_too_large') return Promise.reject(error);
      }
    }
    const next = last.then(() => unpackInThread(bytes, limits));
    last = next.catch(() => undefined);
    return next;
  };
}

const unpack = promisify(gunzipInThread) as (bytes: Buffer, options: ZlibOptions) => Promise<unknown>;

async function unpackInThread(bytes: Buffer, limits: InflateLimits): Promise<Buffer> {
  const options = optionsFor(bytes, limits, chunkBytesInThreadMin);
  try {
    return checked(bytes, (await unpack(bytes, options)) as Inflated);
  } catch (cause) {
    throw refusalOf(cause, limits);
  }
}

function optionsFor(bytes: Buffer, limits: InflateLimits, bytesMin = chunkBytesMin): ZlibOptions {
  if (bytes.length < gzipBytesMin) throw damaged(`expected a whole gzip body, got: ${bytes.length} bytes`);
  const claimed = bytes.readUInt32LE(bytes.length - 4);
  // The true size is the claim plus a multiple of 4 GiB, so it is too large unless deflate cannot expand that far.
  if (claimed > limits.inflatedBytesMax && claimed <= bytes.length * expansionMax) throw inflatedTooLarge(limits);
  const chunkSize = Math.min(chunkBytesMax, limits.inflatedBytesMax, bytes.length * expansionMax, claimed + 1);
  const worthIt = Math.min(chunkBytesWorthIt, bytes.length, limits.inflatedBytesMax);
  return { chunkSize: Math.max(bytesMin, chunkSize, worthIt), maxOutputLength: limits.inflatedBytesMax, info: true };
}

function checked(bytes: Buffer, { buffer, engine }: Inflated): Buffer {
  if (engine.bytesWritten === bytes.length) return buffer;
  throw damaged(`expected the body to end with the gzip data, got: ${bytes.length - engine.bytesWritten} more bytes`);
}

function refusalOf(cause: unknown, limits: InflateLimits): ApiError {
  if (cause instanceof ApiError) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  return code === 'ERR_BUFFER_TOO_LARGE' ? inflatedTooLarge(limits) : damaged(message, cause);
}

function damaged(detail: string, cause?: unknown): ApiError {
  return new ApiError('parse_error', `failed to decode request: invalid GZIP data: ${detail}`, { cause });
}

export function inflatedTooLarge(limits: InflateLimits): ApiError {
  return new ApiError(
    'request_too_large',
    `maximum event size exceeded: Decompressed payload would exceed ${limits.inflatedBytesMax} bytes; send smaller batches`,
  );
}
