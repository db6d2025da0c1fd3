import { promisify } from 'node:util';
import {
  brotliDecompress,
  brotliDecompressSync,
  inflate,
  inflateSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib';
import type { InflateLimits } from './gunzip.ts';

interface Decoder {
  readonly inPlace: (bytes: Buffer, options: DecodeOptions) => Buffer;
  readonly inThread: (bytes: Buffer, options: DecodeOptions) => Promise<Buffer>;
}

interface DecodeOptions {
  readonly maxOutputLength: number;
  readonly chunkSize: number;
}

/** Encodings other than gzip. They are rare: libraries use them only if configured to. */
const decoders = {
  deflate: { inPlace: inflateSync, inThread: promisify<Buffer, DecodeOptions, Buffer>(inflate) },
  br: { inPlace: brotliDecompressSync, inThread: promisify<Buffer, DecodeOptions, Buffer>(brotliDecompress) },
  zstd: { inPlace: zstdDecompressSync, inThread: promisify<Buffer, DecodeOptions, Buffer>(zstdDecompress) },
} as const satisfies Record<string, Decoder>;

export type OtherEncoding = keyof typeof decoders;
export const otherEncodings = Object.keys(decoders) as readonly OtherEncoding[];

/** Larger bodies likely unpack to more than `inPlaceBytesMax`, so that trying in place would be wasted. */
const packedInPlaceMax = 512 * 1024;
/** Up to this size unpacking takes a few milliseconds, which costs less on the event loop than a round trip to another thread. */
const inPlaceBytesMax = 4 * 1024 * 1024;
/** A small body keeps its whole chunk in memory; a large one goes to the other thread once per chunk. */
const chunkBytesInPlace = 64 * 1024;
const chunkBytesInThread = 1024 * 1024;

export type InflateEncoding = (bytes: Buffer, encoding: OtherEncoding, limits: InflateLimits) => Promise<Buffer>;

/**
 * Like `createGunzipper` for the other encodings, which do not state the unpacked size. A large body is unpacked in another
 * thread, one at a time so that their memory does not add up. Rejects with zlib's error; its code is ERR_BUFFER_TOO_LARGE
 * above the limit.
 */
export function createEncodingInflater(): InflateEncoding {
  let last: Promise<unknown> = Promise.resolve();
  return async (bytes, encoding, { inflatedBytesMax }) => {
    const { inPlace, inThread }: Decoder = decoders[encoding];
    if (bytes.length <= packedInPlaceMax) {
      const maxOutputLength = Math.min(inPlaceBytesMax, inflatedBytesMax);
      try {
        return inPlace(bytes, { maxOutputLength, chunkSize: chunkBytesInPlace });
      } catch (error) {
        if (maxOutputLength === inflatedBytesMax || !isTooLarge(error)) throw error;
        // Large after all, or a bomb. The thread decides with the full limit.
      }
    }
    const next = last.then(() => inThread(bytes, { maxOutputLength: inflatedBytesMax, chunkSize: chunkBytesInThread }));
    last = next.catch(() => undefined);
    return next;
  };
}

/** Checks whether zlib failed because of the output limit. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
