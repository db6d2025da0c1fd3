import { isUtf8 } from 'node:buffer';
import { createLineWriter, faultOf, type LineWriter, type Piece } from './piece.ts';

/** A longer row has an unbalanced quote. */
const rowCharsMax = 4 * 1024 * 1024;

/** The dialect of a table. */
export interface CsvDialect {
  readonly delimiter: string;
  /** Quotes within quotes may also be escaped by a backslash, as in MySQL and Redshift; by default they are doubled. */
  readonly escape?: 'backslash';
  /** Line terminator; by default \n or \r\n. */
  readonly lineBreak?: '\r';
  /** The first line names the delimiter, as in Excel: `sep=;`. */
  readonly separatorLine?: true;
}

interface CsvPlaces {
  readonly dialect: CsvDialect;
  /** Names a line (from 1) in faults. */
  readonly place: (line: number) => string;
}

/**
 * Reads rows below a header as objects with text values; an empty unquoted cell and an unquoted \\N are omitted. A row that
 * cannot be read, or has more or fewer values than the header, costs only its first line: reading continues with the next line,
 * so a stray quote does not swallow what follows.
 */
export async function* readCsv(chunks: AsyncIterable<Buffer>, { dialect, place }: CsvPlaces): AsyncGenerator<Piece> {
  const writer = createLineWriter();
  const rows = createRows(writer, dialect, place);
  for await (const text of texts(chunks)) {
    rows.push(text.text, text.sound);
    const piece = writer.take();
    if (piece !== undefined) yield piece;
  }
  rows.end();
  const last = writer.take(true);
  if (last !== undefined) yield last;
}

/** Counts the rows at the beginning of a table that cannot be read in this dialect. */
export function faultsIn(head: string, dialect: CsvDialect): number {
  let faults = 0;
  createRows({ text: () => {}, fault: () => void (faults += 1) }, dialect, String).push(head, true);
  return faults;
}

/** Yields text cut between characters. `sound` is false if bytes are not UTF-8 and became U+FFFD. */
async function* texts(chunks: AsyncIterable<Buffer>): AsyncGenerator<{ text: string; sound: boolean }> {
  let carry = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = carry.length === 0 ? chunk : Buffer.concat([carry, chunk]);
    const end = characterEnd(bytes);
    carry = Buffer.from(bytes.subarray(end));
    if (end > 0) yield textOf(bytes.subarray(0, end));
  }
  if (carry.length > 0) yield textOf(carry);
}

function textOf(bytes: Buffer): { text: string; sound: boolean } {
  return { text: bytes.toString('utf8'), sound: isUtf8(bytes) };
}

/** Returns the end of the last complete UTF-8 character. */
function characterEnd(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

interface Rows {
  push(text: string, sound: boolean): void;
  end(): void;
}

function createRows(
  writer: Pick<LineWriter, 'text' | 'fault'>,
  dialect: CsvDialect,
  place: (line: number) => string,
): Rows {
  const { lineBreak = '\n', separatorLine = false } = dialect;
  let text = '';
  let line = 1;
  /** For the current text. */
  let sound = true;
  /** For the latest piece. */
  let lastSound = true;
  let header: readonly string[] | undefined;
  const take = (values: readonly Cell[], raw: string): boolean => {
    if (header === undefined) {
      header = headerOf(values).map((name) => `${JSON.stringify(name)}:`);
      return true;
    }
    const problem = problemOf(values, header, !sound && raw.includes('\uFFFD'));
    if (problem === undefined) writer.text(objectOf(header, values));
    else writer.fault(faultOf({ place: place(line), line }, problem, firstLine(raw, lineBreak)));
    return problem === undefined;
  };
  const passLine = (from: number, last: boolean): number => {
    if (!last && !text.includes(lineBreak, from)) return -1;
    line += 1;
    return lineAfter(text, from, lineBreak);
  };
  const advance = (from: number, last: boolean): number => {
    if (separatorLine && line === 1) return passLine(from, last);
    const row = scanRow(text, from, dialect, last);
    if (row === 'more') return -1;
    if (typeof row === 'string') {
      writer.fault(
        faultOf({ place: place(line), line }, row, firstLine(text.slice(from, from + rowCharsMax), lineBreak)),
      );
      line += 1;
      return lineAfter(text, from, lineBreak);
    }
    if (row.values.length === 1 && row.values[0] === undefined && row.lines === 1) {
      line += 1;
      return row.end;
    }
    const taken = take(row.values, text.slice(from, row.end));
    line += taken ? row.lines : 1;
    return taken ? row.end : lineAfter(text, from, lineBreak);
  };
  const consume = (last: boolean): void => {
    let from = 0;
    while (from < text.length) {
      const next = advance(from, last);
      if (next === -1) break;
      from = next;
    }
    text = text.slice(from);
  };
  return {
    push(more, isSound) {
      sound = isSound && lastSound;
      lastSound = isSound;
      text += more;
      consume(false);
    },
    end: () => consume(true),
  };
}

/** `undefined` for an empty unquoted cell. */
type Cell = string | undefined;

interface Row {
  readonly values: Cell[];
  readonly end: number;
  /** Number of lines that it covers. */
  readonly lines: number;
}

/** Returns a row, `more` if the text ends within it, or the fault. */
function scanRow(text: string, from: number, dialect: CsvDialect, last: boolean): Row | string {
  const { delimiter, lineBreak = '\n' } = dialect;
  const values: Cell[] = [];
  let at = from;
  let lines = 1;
  for (;;) {
    if (text[at] === '"') {
      const close = closingQuote(text, at + 1, dialect);
      const isOpen = close === -1 || (close + 1 === text.length && !last);
      if (isOpen && text.length - from > rowCharsMax) return 'expected a closing quote, got none within 4 MB';
      if (isOpen) return last ? 'expected a closing quote, got the end of the file' : 'more';
      const value = text.slice(at + 1, close);
      lines += breaksIn(value, lineBreak);
      values.push(unescaped(value, dialect));
      at = close + 1;
      const next = text[at];
      if (next === '\r' && at + 1 === text.length && !last) return 'more';
      if (next !== undefined && next !== delimiter && next !== '\n' && next !== '\r') {
        return `expected a delimiter or the end of the row after a closing quote, got: ${JSON.stringify(next)}`;
      }
    } else {
      const end = valueEnd(text, at, delimiter, lineBreak);
      if (end === text.length && !last) {
        return text.length - from > rowCharsMax ? 'expected the end of the row, got none within 4 MB' : 'more';
      }
      values.push(bareCell(text.slice(at, end)));
      at = end;
    }
    if (text[at] === delimiter) at += 1;
    else return endOfRow(text, at, values, lines);
  }
}

/** Databases write NULL as \\N. */
function bareCell(text: string): Cell {
  return text === '' || text === '\\N' ? undefined : text;
}

function unescaped(value: string, { escape }: CsvDialect): string {
  if (escape === 'backslash')
    return value.replaceAll(/\\(["\\])|""/g, (_found, kept: string | undefined) => kept ?? '"');
  return value.includes('"') ? value.replaceAll('""', '"') : value;
}

function endOfRow(text: string, at: number, values: Cell[], lines: number): Row {
  const value = values.at(-1) ?? '';
  // In an unquoted value the \r of \r\n is still included.
  if (text[at] !== '\r' && text[at - 1] === '\r' && value.endsWith('\r'))
    values[values.length - 1] = bareCell(value.slice(0, -1));
  const end = text[at] === '\r' ? (text[at + 1] === '\n' ? at + 2 : at + 1) : at + 1;
  return { values, end, lines };
}

/** Returns the position of the closing quote, which is not doubled, or -1. */
function closingQuote(text: string, from: number, { escape }: CsvDialect): number {
  if (escape === 'backslash') return closingAfterEscapes(text, from);
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return -1;
}

function closingAfterEscapes(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') {
      if (text[at + 1] !== '"') return at;
      at += 1;
    }
  }
  return -1;
}

function valueEnd(text: string, from: number, delimiter: string, lineBreak: string): number {
  const end = lineBreak.charCodeAt(0);
  const code = delimiter.charCodeAt(0);
  for (let at = from; at < text.length; at += 1) {
    const each = text.charCodeAt(at);
    if (each === code || each === end) return at;
  }
  return text.length;
}

function breaksIn(value: string, lineBreak: string): number {
  let count = 0;
  for (let at = value.indexOf(lineBreak); at !== -1; at = value.indexOf(lineBreak, at + 1)) count += 1;
  return count;
}

function lineAfter(text: string, from: number, lineBreak: string): number {
  const end = text.indexOf(lineBreak, from);
  return end === -1 ? text.length : end + 1;
}

function firstLine(text: string, lineBreak: string): string {
  return text.slice(0, Math.min(2000, lineAfter(text, 0, lineBreak))).trimEnd();
}

function problemOf(values: readonly Cell[], header: readonly string[], garbled: boolean): string | undefined {
  if (values.length !== header.length) return `expected ${header.length} values as in the header, got ${values.length}`;
  return garbled
    ? 'expected UTF-8, got other bytes: convert the file, for example with iconv -f WINDOWS-1252 -t UTF-8'
    : undefined;
}

/** Gives empty and repeated names unique ones. */
function headerOf(values: readonly Cell[]): string[] {
  const names = new Set<string>();
  /** The next suffix to try for each name. */
  const numbers = new Map<string, number>();
  for (const [index, value = ''] of values.entries()) {
    const name = value.trim() === '' ? `column_${index + 1}` : value.trim();
    let number = numbers.get(name) ?? 2;
    let own = name;
    for (; names.has(own); number += 1) own = `${name}_${number}`;
    numbers.set(name, number);
    names.add(own);
  }
  return [...names];
}

function objectOf(header: readonly string[], values: readonly Cell[]): string {
  let json = '';
  for (let index = 0; index < header.length; index += 1) {
    const value = values[index];
    if (value !== undefined) json += (json === '' ? '' : ',') + header[index] + JSON.stringify(value);
  }
  return `{${json}}`;
}
