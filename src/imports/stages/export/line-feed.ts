import type { ReadingNote, RecordChunk, SourceFault } from '../../source.ts';

/** The records of a part as a stream that can be divided between any two lines. */
export interface LineFeed {
  /** Returns the next lines, at most `linesMax` and, except for a longer first line, `bytesMax` bytes; valid until the next call. `undefined` at the end. */
  take(linesMax: number, bytesMax: number): Promise<Lines | undefined>;
  /** Skips lines. Returns `false` if there were fewer. */
  skip(lines: number): Promise<boolean>;
  /** Returns the notes of the lines that were taken since the last call. */
  takeNotes(): readonly ReadingNote[];
  /** Returns bytes of the source read up to now. */
  bytesRead(): number;
  close(): Promise<void>;
}

export interface Lines {
  readonly bytes: Buffer;
  readonly count: number;
}

const newline = 0x0a;

/** Receives faults in order, before the lines of the same chunk; `linesBefore` counts lines of earlier chunks. */
type OnFaults = (faults: readonly SourceFault[], linesBefore: number) => Promise<void>;

export function createLineFeed(chunks: AsyncIterable<RecordChunk>, onFaults: OnFaults): LineFeed {
  const source = chunks[Symbol.asyncIterator]();
  let leased: Lines | undefined;
  let bytesRead = 0;
  let linesRead = 0;
  let unread: ReadingNote[] = [];

  const next = async (): Promise<Lines | undefined> => {
    while (leased === undefined) {
      const step = await source.next();
      if (step.done === true) return undefined;
      bytesRead = step.value.bytesRead;
      const { faults, lines, count, notes = [] } = step.value;
      unread.push(...notes);
      if (faults !== undefined && faults.length > 0) await onFaults(faults, linesRead);
      if (count > 0) leased = { bytes: lines, count };
      linesRead += count;
    }
    return leased;
  };
  const cut = (from: Lines, linesMax: number, bytesMax: number): Lines => {
    leased = undefined;
    if (from.count <= linesMax && from.bytes.length <= bytesMax) return from;
    const taken = head(from.bytes, Math.min(linesMax, from.count), bytesMax);
    const rest = { bytes: from.bytes.subarray(taken.bytes.length), count: from.count - taken.count };
    if (rest.count > 0) leased = rest;
    return taken;
  };
  return {
    async take(linesMax, bytesMax) {
      const lines = await next();
      return lines === undefined ? undefined : cut(lines, linesMax, bytesMax);
    },
    async skip(lines) {
      for (let left = lines; left > 0;) {
        const from = await next();
        if (from === undefined) return false;
        left -= cut(from, left, Infinity).count;
      }
      // Those lines were staged with their notes.
      unread = [];
      return true;
    },
    takeNotes() {
      const notes = unread;
      unread = [];
      return notes;
    },
    bytesRead: () => bytesRead,
    close: async () => void (await source.return?.()),
  };
}

/** Takes at least one line. */
function head(bytes: Buffer, linesMax: number, bytesMax: number): Lines {
  let end = 0;
  let count = 0;
  while (count < linesMax) {
    const found = bytes.indexOf(newline, end);
    const lineEnd = found < 0 ? bytes.length : found + 1;
    if (count > 0 && lineEnd > bytesMax) break;
    end = lineEnd;
    count += 1;
  }
  return { bytes: bytes.subarray(0, end), count };
}
