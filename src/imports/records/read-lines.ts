import { countLines } from '../../base/count-lines.ts';
import { lineWithoutRecord, type SourceFault } from '../source.ts';
import { textOfString } from './detect.ts';
import { escapeControls, pieceBytes, recordBytesMax, tooLong, type Piece } from './piece.ts';

const newline = 0x0a;
const lineEnd = Buffer.from('\n');

/**
 * Passes lines through; the bytes are only searched for line breaks. `place` names a line for faults. Bytes kept across chunks
 * are copied, since the memory of a chunk may be reused.
 */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  place: (line: number) => string,
): AsyncGenerator<Piece> {
  const splitter = createSplitter(place);
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += pieceBytes) {
      yield* splitter.push(chunk.subarray(from, from + pieceBytes));
    }
  }
  const last = splitter.end();
  if (last !== undefined) yield last;
}

/** Reads lines of plain text, each as a JSON string; blank lines stay blank, and an escaped line break stays in its record. */
export async function* readTexts(
  chunks: AsyncIterable<Buffer>,
  place: (line: number) => string,
): AsyncGenerator<Piece> {
  const escaped = createEscapedLines();
  for await (const piece of readLines(chunks, place)) {
    // Faults refer to lines of the same piece.
    if (piece.faults.length > 0) yield* textPieces(escaped.rest());
    const texts = piece.lines.toString().split('\n').slice(0, -1);
    yield* textPieces(escaped.join(texts), piece.faults);
  }
  yield* textPieces(escaped.rest());
}

function textPieces(texts: readonly string[], faults: Piece['faults'] = []): readonly Piece[] {
  if (texts.length + faults.length === 0) return [];
  const lines = texts.map((text) => `${text.trim() === '' ? '' : JSON.stringify(text.replace(/\r$/, ''))}\n`);
  return [{ lines: Buffer.from(lines.join('')), count: texts.length, faults }];
}

/** Reads records given as JSON strings, one per line; other lines stay. */
export async function* readStrings(
  chunks: AsyncIterable<Buffer>,
  place: (line: number) => string,
): AsyncGenerator<Piece> {
  for await (const piece of readLines(chunks, place)) {
    const lines = piece.lines.toString().split('\n').slice(0, -1);
    const records = lines.map((line) => Buffer.from(textOfString(line) ?? line));
    yield { ...piece, lines: Buffer.concat(records.flatMap((record) => [escapeControls(record), lineEnd])) };
  }
}

interface Splitter {
  push(chunk: Buffer): readonly Piece[];
  end(): Piece | undefined;
}

function createSplitter(place: (line: number) => string): Splitter {
  /** The beginning of an incomplete line. */
  let carry: Buffer[] = [];
  let carried = 0;
  let overlong = false;
  let linesDone = 0;
  const piece = (lines: Buffer, faults: readonly SourceFault[]): Piece => {
    const count = countLines(lines);
    linesDone += count;
    return { lines, count, faults };
  };
  const release = (): void => {
    carry = [];
    carried = 0;
  };
  /** Replaces an overlong line by one without a record, so that later lines keep their numbers. */
  const abandonLine = (): Piece => {
    const line = linesDone + 1;
    const fault = { ...tooLong({ place: place(line), line }, carry[0] ?? lineEnd), heldAt: 0 };
    release();
    overlong = true;
    return piece(lineWithoutRecord, [fault]);
  };
  return {
    push(given) {
      let chunk = given;
      if (overlong) {
        const end = chunk.indexOf(newline);
        if (end === -1) return [];
        overlong = false;
        chunk = chunk.subarray(end + 1);
      }
      const pieces: Piece[] = [];
      if (carried > 0) {
        const end = chunk.indexOf(newline) + 1;
        if (end > 0) {
          const first = Buffer.concat([...carry, chunk.subarray(0, end)]);
          release();
          pieces.push(piece(first, []));
          chunk = chunk.subarray(end);
        }
      }
      const end = chunk.lastIndexOf(newline) + 1;
      if (end > 0) pieces.push(piece(chunk.subarray(0, end), []));
      if (end < chunk.length) carry.push(Buffer.from(chunk.subarray(end)));
      carried += chunk.length - end;
      if (carried > recordBytesMax) pieces.push(abandonLine());
      return pieces;
    },
    end: () => (carried === 0 ? undefined : piece(Buffer.concat([...carry, lineEnd]), [])),
  };
}

/**
 * Joins lines whose line break is escaped by a backslash, as in data feeds. Lines that are open at the end are kept for the next
 * call.
 */
interface EscapedLines {
  join(lines: readonly string[]): readonly string[];
  /** Returns the line left open at the end. */
  rest(): readonly string[];
}

function createEscapedLines(): EscapedLines {
  let open: string | undefined;
  return {
    join: (lines) => {
      const whole: string[] = [];
      for (const line of lines) {
        const text = open === undefined ? line : `${open}\n${line}`;
        open = isOpen(line) ? text : undefined;
        if (open === undefined) whole.push(text);
      }
      return whole;
    },
    rest: () => {
      const left = open === undefined ? [] : [open];
      open = undefined;
      return left;
    },
  };
}

/** Whether a line ends with an unescaped backslash. */
function isOpen(line: string): boolean {
  if (!line.endsWith('\\')) return false;
  const backslashes = /\\+$/.exec(line)?.[0].length ?? 0;
  return backslashes % 2 === 1;
}
