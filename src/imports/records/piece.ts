import type { ForeignFiles, ReadingNote, SourceFault } from '../source.ts';
import type { TextForm } from './detect.ts';

/** Some records of a file, one per line, and faults for what could not become a line. */
export interface Piece {
  /** Whole lines, ending with \n. Valid until the next piece is requested. */
  readonly lines: Buffer;
  readonly count: number;
  readonly faults: readonly SourceFault[];
  /** See RecordChunk. */
  readonly readAs?: string;
  readonly notes?: readonly ReadingNote[];
}

export interface ReadHints {
  /** For messages, such as `exports/a.json.gz`. */
  readonly name: string;
  /** Called for every text with its form and its first 64 KB. */
  readonly onText?: (form: TextForm, head: Buffer) => void;
  /** Called with all bytes that are read sequentially from the beginning, before decompression. */
  readonly onBytes?: (bytes: Buffer) => void;
  /** Set if files without records are skipped: members of archives, and the file itself if it `isOneOfSeveral`. */
  readonly foreign?: ForeignFiles | undefined;
  readonly isOneOfSeveral?: boolean;
  /** When aborted, reading ends with its reason. */
  readonly signal: AbortSignal;
  /** Directory for archives and Parquet files that arrive as a stream; created if missing. */
  readonly tempDir: string;
  /** Maximum of decompressed bytes per byte of the source. Default 400. */
  readonly ratioMax?: number;
  /** Decompressed bytes up to which the ratio is not checked. Default 256 MB. */
  readonly unguardedBytes?: number | undefined;
}

/** Longer records are faults: all services reject events above 1 MB. */
export const recordBytesMax = 20 * 1024 * 1024;
/** Approximate size of a piece. */
export const pieceBytes = 768 * 1024;
/** Limit of the source text in a fault. */
const originalCharsMax = 2000;
const newline = 0x0a;

/** `line`: the line number, or the record number where records are not lines. */
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
  /** Adds a record given in several parts; it becomes one line, and the contents of its strings are preserved. */
  record(parts: readonly Buffer[]): void;
  /** Adds a record without line breaks. */
  text(line: string): void;
  fault(fault: SourceFault): void;
  /** Returns a piece, or `undefined` if there is not enough yet. `all`: returns what there is. */
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

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
const short: Readonly<Record<number, string>> = { 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r' };

/**
 * Returns JSON as one line without control characters: those within strings, which JSON does not allow, are escaped, and those
 * between tokens become spaces. Modifies the record in place and returns it, unless it has to grow.
 */
export function escapeControls(record: Buffer): Buffer {
  const found: number[] = [];
  let inString = false;
  for (let at = 0; at < record.length; at += 1) {
    const byte = record[at] as number;
    if (byte < space) {
      if (inString) found.push(at);
      else record[at] = space;
    } else if (byte === quote) inString = !inString;
    // Skips escaped characters; an escaped line break is invalid JSON in any case.
    else if (byte === backslash && inString) {
      at += 1;
      if ((record[at] ?? space) < space) record[at] = space;
    }
  }
  return found.length === 0 ? record : escapeAt(record, found);
}

function escapeAt(record: Buffer, places: readonly number[]): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (const at of places) {
    const byte = record[at] as number;
    parts.push(record.subarray(from, at), Buffer.from(short[byte] ?? `\\u00${byte.toString(16).padStart(2, '0')}`));
    from = at + 1;
  }
  return Buffer.concat([...parts, record.subarray(from)]);
}
