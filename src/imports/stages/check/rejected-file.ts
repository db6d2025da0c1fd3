import type { RejectedRecord } from '../../staging.ts';
import { compress } from './compress.ts';

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
