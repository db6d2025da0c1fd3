import type { RejectedRecord } from '../../staging.ts';
import { constants, zstdCompressSync } from 'node:zlib';
import { compacted } from '../../../base/free-memory.ts';

/** Rejected records on their way to a file: compressed as they come, so that a segment of nothing else stays small. */
export interface RejectedFile {
  add(record: RejectedRecord): void;
  readonly count: number;
  /** Frames of zstd that make one file of lines. */
  finish(): readonly Buffer[];
}

const frameChars = 1 << 20;
const level = 3;

export function createRejectedFile(): RejectedFile {
  const frames: Buffer[] = [];
  let lines: string[] = [];
  let chars = 0;
  let count = 0;
  const close = (): void => {
    if (lines.length > 0) frames.push(compress(Buffer.from(lines.join('')), level));
    lines = [];
    chars = 0;
  };
  return {
    add: (record) => {
      const line = `${JSON.stringify(record)}\n`;
      lines.push(line);
      chars += line.length;
      count += 1;
      if (chars >= frameChars) close();
    },
    get count() {
      return count;
    },
    finish: () => {
      close();
      return frames;
    },
  };
}

/** One frame of zstd, in memory of its own. */
function compress(raw: Buffer, compressionLevel: number): Buffer {
  // With a checksum: a damaged file must not be taken for a good one.
  const params = { [constants.ZSTD_c_compressionLevel]: compressionLevel, [constants.ZSTD_c_checksumFlag]: 1 };
  return compacted(zstdCompressSync(raw, { chunkSize: boundOf(raw.length), params }));
}

/** Room for what does not compress, so that zlib writes it in one piece. */
function boundOf(bytes: number): number {
  return bytes + (bytes >> 7) + 1024;
}
