import { constants, zstdCompressSync } from 'node:zlib';
import { compacted } from '../../../base/free-memory.ts';

/** One frame of zstd, in memory of its own. */
export function compress(raw: Buffer, compressionLevel: number): Buffer {
  // With a checksum: a damaged file must not be taken for a good one.
  const params = { [constants.ZSTD_c_compressionLevel]: compressionLevel, [constants.ZSTD_c_checksumFlag]: 1 };
  return compacted(zstdCompressSync(raw, { chunkSize: boundOf(raw.length), params }));
}

/** Room for what does not compress, so that zlib writes it in one piece. */
export function boundOf(bytes: number): number {
  return bytes + (bytes >> 7) + 1024;
}
