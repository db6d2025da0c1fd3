import type { ForeignFiles, ReadingNote, SourceFault } from '../source.ts';
import { escapeControls } from './raw-controls.ts';
import type { TextForm } from './detect.ts';

/** Some records of a file, each one line, and what could not become a line. */
export interface Piece {
  /** Whole lines: ends with \n. There until the next piece is asked for. */
  readonly lines: Buffer;
  readonly count: number;
  readonly faults: readonly SourceFault[];
  /** See RecordChunk. */
  readonly readAs?: string;
  readonly notes?: readonly ReadingNote[];
}

export interface ReadHints {
  /** For messages: `exports/a.json.gz`. */
  readonly name: string;
  /** Told of every text in it: what form it has, and its first 64 KB. */
  readonly onText?: (form: TextForm, head: Buffer) => void;
  /** Told of all bytes that are read in a row from the beginning, before decompression. */
  readonly onBytes?: (bytes: Buffer) => void;
  /** Given where files that hold no records are left out: members of archives, and the file itself where it `isOneOfSeveral`. */
  readonly foreign?: ForeignFiles | undefined;
  readonly isOneOfSeveral?: boolean;
  /** Aborted: reading ends with its reason. */
  readonly signal: AbortSignal;
  /** Where archives and Parquet files that come as a stream lie while they are read; made when it is not there. */
  readonly tempDir: string;
  /** Decompressed bytes for one byte of the source, beyond which it is taken for a trap. Default 400. */
  readonly ratioMax?: number;
  /** Decompressed bytes up to which that does not matter: small files compress as they like. Default 256 MB. */
  readonly unguardedBytes?: number | undefined;
}

/** Longer records are faults: an event above 1 MB is refused by every service anyway. */
export const recordBytesMax = 20 * 1024 * 1024;
/** About so much is handed on at once. */
export const pieceBytes = 768 * 1024;
/** Of what a fault shows of the source. */
const originalCharsMax = 2000;
const newline = 0x0a;

/** `line`: of the text, or of the record where records have no lines. */
interface FaultPlace {
  readonly place: string;
  readonly line: number;
}

export function faultOf({ place, line }: FaultPlace, reason: string, original: string): SourceFault {
  return { place, line, reason, original: original.slice(0, originalCharsMax) };
}

export function tooLong(place: FaultPlace, head: Buffer): SourceFault {
  const reason = `expected a record of at most ${recordBytesMax} bytes, got a longer one`;
  return faultOf(place, reason, head.toString('utf8', 0, originalCharsMax));
}

/** Collects records of any shape as lines. */
export interface LineWriter {
  /** One record that may lie in several pieces; it becomes one line, and what its strings hold is kept. */
  record(parts: readonly Buffer[]): void;
  /** One record that holds no line break. */
  text(line: string): void;
  fault(fault: SourceFault): void;
  /** Undefined: there is not enough yet. `all`: whatever there is. */
  take(all?: boolean): Piece | undefined;
}

export function createLineWriter(): LineWriter {
  let buffer = Buffer.allocUnsafe(pieceBytes + 256 * 1024);
  let length = 0;
  let count = 0;
  let faults: SourceFault[] = [];
  const reserve = (bytes: number): void => {
    if (length + bytes + 1 <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, length + bytes + 1));
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
  };
  const endLine = (): void => {
    buffer[length] = newline;
    length += 1;
    count += 1;
  };
  return {
    record(parts) {
      const start = length;
      for (const part of parts) {
        reserve(part.length);
        part.copy(buffer, length);
        length += part.length;
      }
      const record = buffer.subarray(start, length);
      const line = escapeControls(record);
      if (line !== record) {
        reserve(line.length - record.length);
        line.copy(buffer, start);
        length = start + line.length;
      }
      endLine();
    },
    text(line) {
      reserve(line.length * 3);
      length += buffer.write(line, length);
      endLine();
    },
    fault: (fault) => void faults.push(fault),
    take(all = false) {
      const enough = all ? length > 0 || faults.length > 0 : length >= pieceBytes || faults.length >= 1000;
      if (!enough) return undefined;
      const piece = { lines: buffer.subarray(0, length), count, faults };
      buffer = Buffer.allocUnsafe(pieceBytes + 256 * 1024);
      length = 0;
      count = 0;
      faults = [];
      return piece;
    },
  };
}
