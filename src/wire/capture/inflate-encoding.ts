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
  readonly here: (bytes: Buffer, options: DecodeOptions) => Buffer;
  readonly aside: (bytes: Buffer, options: DecodeOptions) => Promise<Buffer>;
}

interface DecodeOptions {
  readonly maxOutputLength: number;
  readonly chunkSize: number;
}

/** Besides gzip. Rare: no released library asks for them unless told to. */
const decoders = {
  deflate: { here: inflateSync, aside: promisify<Buffer, DecodeOptions, Buffer>(inflate) },
  br: { here: brotliDecompressSync, aside: promisify<Buffer, DecodeOptions, Buffer>(brotliDecompress) },
  zstd: { here: zstdDecompressSync, aside: promisify<Buffer, DecodeOptions, Buffer>(zstdDecompress) },
} as const satisfies Record<string, Decoder>;

export type OtherEncoding = keyof typeof decoders;
export const otherEncodings = Object.keys(decoders) as readonly OtherEncoding[];

/** Packed bytes that are likely more than `inPlaceBytesMax` of JSON, so that trying here would be for nothing. */
const packedHereMax = 512 * 1024;
/** Up to here unpacking takes a few milliseconds: less trouble on the event loop than a trip to another thread. */
const inPlaceBytesMax = 4 * 1024 * 1024;
/** A small body keeps its whole chunk in memory; a large one goes to the other thread once per chunk. */
const chunkBytesHere = 64 * 1024;
const chunkBytesAside = 1024 * 1024;

export type InflateEncoding = (bytes: Buffer, encoding: OtherEncoding, limits: InflateLimits) => Promise<Buffer>;

/**
 * As createGunzipper for the other encodings, which do not say how large they unpack: a large body goes to another thread,
 * one at a time, so that their memory does not add up. Rejects with the error of zlib, of code ERR_BUFFER_TOO_LARGE above
 * the limit.
 */
export function createEncodingInflater(): InflateEncoding {
  let last: Promise<unknown> = Promise.resolve();
  return async (bytes, encoding, { inflatedBytesMax }) => {
    const { here, aside }: Decoder = decoders[encoding];
    if (bytes.length <= packedHereMax) {
      const maxOutputLength = Math.min(inPlaceBytesMax, inflatedBytesMax);
      try {
        return here(bytes, { maxOutputLength, chunkSize: chunkBytesHere });
      } catch (error) {
        if (maxOutputLength === inflatedBytesMax || !isTooLarge(error)) throw error;
        // Large after all, or a bomb. The full limit decides, out of the way.
      }
    }
    const next = last.then(() => aside(bytes, { maxOutputLength: inflatedBytesMax, chunkSize: chunkBytesAside }));
    last = next.catch(() => undefined);
    return next;
  };
}

/** Whether zlib gave up at the limit it was given. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
