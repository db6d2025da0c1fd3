import { lineContinued } from '../source.ts';
import { type Piece, escapeControls } from './piece.ts';

/** Limit of a record over several lines: all services reject larger ones. */
const joinedBytesMax = 2 * 1024 * 1024;
const joinedLinesMax = 1000;
/** Limit of a broken record shown to people. */
const brokenBytesMax = 64 * 1024;

const newline = 0x0a;
const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;

/**
 * Passes lines of JSON through, with two repairs of what exporters write although JSON does not allow it. Control characters
 * within strings are escaped. A line that ends within a string is joined with the following ones if together they are one record;
 * otherwise it is broken, together with the lines up to the next one that begins a record. Each further line of a record leaves
 * `lineContinued` behind, so that later lines keep their numbers. `commas`: drops a comma at the beginning or end of lines.
 */
export async function* mendLines(pieces: AsyncIterable<Piece>, { commas = false } = {}): AsyncGenerator<Piece> {
  const mender = createMender(commas);
  for await (const piece of pieces) {
    const isPlain = !commas && !mender.isOpen() && firstSuspect(piece.lines) === -1;
    // An overlong line ends an open record.
    if (piece.faults.length > 0) yield* pieceOf(mender.end());
    if (isPlain || piece.faults.length > 0) yield piece;
    else yield* pieceOf(mender.push(piece.lines));
  }
  yield* pieceOf(mender.end());
}

function* pieceOf(lines: readonly Buffer[]): Generator<Piece> {
  if (lines.length > 0) yield { lines: Buffer.concat(lines), count: lines.length, faults: [] };
}

/** Returns the start of the first line with a control character in a string or an open string at its end, or -1. */
function firstSuspect(lines: Buffer): number {
  let line = 0;
  let inString = false;
  for (let at = 0; at < lines.length; at += 1) {
    const byte = lines[at] as number;
    if (inString) {
      if (byte < space) return line;
      if (byte === quote) inString = false;
      else if (byte === backslash) {
        at += 1;
        if ((lines[at] as number) < space) return line;
      }
    } else if (byte === quote) inString = true;
    else if (byte === newline) line = at + 1;
  }
  return -1;
}

interface Mender {
  isOpen(): boolean;
  /** Takes whole lines and returns as many, some of them later. */
  push(lines: Buffer): Buffer[];
  end(): Buffer[];
}

/** Lines that may form one record. */
interface Open {
  readonly lines: Buffer[];
  bytes: number;
  readonly scan: JsonScan;
  /** They do not: the lines up to the next record belong to the broken one. */
  isBroken: boolean;
}

function createMender(commas: boolean): Mender {
  let open: Open | undefined;
  const out: Buffer[] = [];
  const give = (line: Buffer, lines: number): void => {
    out.push(line);
    for (let more = 1; more < lines; more += 1) out.push(lineContinued);
  };
  const begin = (line: Buffer): void => {
    const scan = beginJson();
    const state = followJson(scan, line);
    if (state === 'open' && beginsRecord(line)) open = { lines: [line], bytes: line.length, scan, isBroken: false };
    else give(mended(line, commas), 1);
  };
  /** The first line is not a record; later ones may contain some. */
  const abandon = (): void => {
    const held = open?.lines ?? [];
    open = undefined;
    const end = held.findIndex((line, index) => index > 0 && beginsRecord(line));
    const broken = end === -1 ? held : held.slice(0, end);
    open = { lines: broken, bytes: joinedBytesMax, scan: beginJson(), isBroken: true };
    for (const line of end === -1 ? [] : held.slice(end)) take(line);
  };
  const flush = (): void => {
    const { lines = [], isBroken } = open ?? {};
    if (isBroken !== true) return;
    open = undefined;
    const shown = Buffer.concat(lines).subarray(0, brokenBytesMax);
    give(lines.length === 1 ? (lines[0] as Buffer) : oneLine(shown), lines.length);
  };
  const follow = (to: Open, line: Buffer): void => {
    const state = followJson(to.scan, line);
    to.lines.push(line);
    to.bytes += line.length;
    if (state === 'ended') {
      const record = mended(Buffer.concat(to.lines), commas);
      if (!isJson(record)) return abandon();
      open = undefined;
      give(record, to.lines.length);
    } else if (state === 'impossible' || to.bytes > joinedBytesMax || to.lines.length > joinedLinesMax) abandon();
  };
  const take = (line: Buffer): void => {
    if (open?.isBroken === true) {
      if (!beginsRecord(line)) return void open.lines.push(line);
      flush();
    }
    if (open === undefined) begin(line);
    else follow(open, line);
  };
  /** Returns false if nothing was open. */
  const finish = (): boolean => {
    if (open === undefined) return false;
    if (!open.isBroken) abandon();
    flush();
    return true;
  };
  return {
    isOpen: () => open !== undefined,
    push(lines) {
      for (const line of eachLine(lines)) take(line);
      return out.splice(0);
    },
    end() {
      while (finish()) continue;
      return out.splice(0);
    },
  };
}

/** Yields copies, since the memory of a piece may be reused. */
function* eachLine(lines: Buffer): Generator<Buffer> {
  for (let from = 0; from < lines.length;) {
    const end = lines.indexOf(newline, from) + 1;
    yield Buffer.from(lines.subarray(from, end));
    from = end;
  }
}

/** Returns the repaired line, or the original if that does not help; the check reports it. */
function mended(line: Buffer, commas: boolean): Buffer {
  const bare = commas ? withoutCommas(line) : line;
  const record = escapeControls(Buffer.from(bare.subarray(0, -1)));
  const text = Buffer.concat([record, bare.subarray(-1)]);
  return line.length === text.length && !commas ? line : isJson(text) ? text : oneLine(bare);
}

function withoutCommas(line: Buffer): Buffer {
  let from = 0;
  let to = line.length;
  while (from < to && isGap(line[from] as number)) from += 1;
  while (to > from && isGap(line[to - 1] as number)) to -= 1;
  return Buffer.concat([line.subarray(from, to), Buffer.from('\n')]);
}

function isGap(byte: number): boolean {
  return byte <= space || byte === comma;
}

function oneLine(lines: Buffer): Buffer {
  const text = Buffer.from(lines);
  for (let at = text.indexOf(newline); at !== -1 && at < text.length - 1; at = text.indexOf(newline, at + 1)) {
    text[at] = space;
  }
  if (text.at(-1) !== newline) return Buffer.concat([text, Buffer.from('\n')]);
  return text;
}

function isJson(line: Buffer): boolean {
  try {
    JSON.parse(line.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

function beginsRecord(line: Buffer): boolean {
  const first = line.find((byte) => !isGap(byte));
  return first === 0x7b || first === 0x5b;
}

/** State of a JSON value that spans several lines. */
interface JsonScan {
  depth: number;
  inString: boolean;
  escaped: boolean;
  /** A string has just ended; few tokens may follow. */
  afterString: boolean;
}

function beginJson(): JsonScan {
  return { depth: 0, inString: false, escaped: false, afterString: false };
}

/**
 * Processes another line. `open`: it ends within a string; `ended`: it ends with the value, except for commas; `impossible`: it
 * cannot be JSON, or ends elsewhere. A line that begins a record is always impossible within a string: its first quote closes the
 * string, and a name follows.
 */
function followJson(scan: JsonScan, line: Buffer): 'open' | 'ended' | 'impossible' {
  let isOver = false;
  for (const byte of line) {
    if (scan.inString) followString(scan, byte);
    else if (byte > space) {
      if (isOver ? byte !== comma : scan.afterString && !mayFollowString(byte)) return 'impossible';
      isOver ||= followToken(scan, byte);
    } else if (byte === newline) break;
  }
  return scan.inString ? 'open' : isOver ? 'ended' : 'impossible';
}

function followString(scan: JsonScan, byte: number): void {
  if (scan.escaped) scan.escaped = false;
  else if (byte === backslash) scan.escaped = true;
  else if (byte === quote) {
    scan.inString = false;
    scan.afterString = true;
  }
}

/** `,` `:` `]` `}` */
function mayFollowString(byte: number): boolean {
  return byte === comma || byte === colon || byte === 0x5d || byte === 0x7d;
}

/** Returns whether the value ends with this byte. */
function followToken(scan: JsonScan, byte: number): boolean {
  scan.afterString = false;
  if (byte === quote) scan.inString = true;
  if (byte === 0x7b || byte === 0x5b) scan.depth += 1;
  if (byte !== 0x7d && byte !== 0x5d) return false;
  scan.depth -= 1;
  return scan.depth <= 0;
}
