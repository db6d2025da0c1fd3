import type { RejectedRecord } from '../../staging.ts';
import { constants, zstdCompressSync } from 'node:zlib';
import { compacted } from '../../../base/free-memory.ts';

/** Collects rejected records, compressed as they arrive, so that a segment of nothing else stays small. */
export interface RejectedFile {
  add(record: RejectedRecord): void;
  readonly count: number;
  /** Returns zstd frames that form one file of lines. */
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

/** Compresses into one zstd frame in separate memory. */
function compress(raw: Buffer, compressionLevel: number): Buffer {
  // The checksum reveals damaged files.
  const params = { [constants.ZSTD_c_compressionLevel]: compressionLevel, [constants.ZSTD_c_checksumFlag]: 1 };
  return compacted(zstdCompressSync(raw, { chunkSize: boundOf(raw.length), params }));
}

/** Returns room for incompressible input, so that zlib writes it in one piece. */
function boundOf(bytes: number): number {
  return bytes + (bytes >> 7) + 1024;
}
