import { SourceWaitError } from '../source.ts';
import { createBatchMembers, type BatchMembers } from './batch-members.ts';
import { createLineWriter, recordBytesMax, tooLong, type LineWriter, type Piece } from './piece.ts';

/**
 * - objects: one after the other, over any number of lines, with anything between them
 * - array: elements of arrays
 * - batch: elements of one member of objects, by default `batch`
 */
export type ValueLayout = 'objects' | 'array' | 'batch';

/** Precedes each record of a JSON text sequence (RFC 7464); never occurs in JSON. */
const recordSeparator = 0x1e;

const newline = 0x0a;
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const keyBytesMax = 16;
/** Limit of white space that is not a record. */
const blankBytesMax = 64;
/** 1 for bytes that matter within a record. */
const structural = new Uint8Array(256);
for (const byte of [quote, comma, openBrace, closeBrace, openBracket, closeBracket]) structural[byte] = 1;

/** State of the scanner. `depth` counts open containers; records begin at `base`, or nowhere if it is -1. */
interface Scan {
  readonly layout: ValueLayout;
  /** The member with the records of a batch. */
  readonly list: string;
  depth: number;
  base: number;
  inString: boolean;
  escaped: boolean;
  inRecord: boolean;
  /** The current top-level value contains (or is) the list of records. */
  listed: boolean;
  /** The current member name and the last byte that is not white space: to recognise `"batch": [`. */
  key: number[];
  before: number;
}

interface ValuesOptions {
  readonly name: string;
  readonly place: (record: number) => string;
  readonly list?: string | undefined;
  /** Limit of a batch that is held until its members are known. Default 8 MB. */
  readonly heldBytesMax?: number | undefined;
}

/**
 * Reads records of JSON that is not one per line, split by brackets and strings without building values. Invalid JSON is also
 * emitted as a record, for the check to reject.
 * @throws SourceWaitError if the file ends within a value
 */
export async function* readValues(
  chunks: AsyncIterable<Buffer>,
  layout: ValueLayout,
  { name, place, list = 'batch', heldBytesMax }: ValuesOptions,
): AsyncGenerator<Piece> {
  const scan = startOf(layout, list);
  const writer = createLineWriter();
  // Pages of a service have no members for their records; batches of a gateway do.
  const batch = layout === 'batch' && list === 'batch' ? createBatchMembers(writer, heldBytesMax) : undefined;
  const pending = createPending(writer, place, { list, batch });
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    cut(scan, chunk, pending);
    const piece = writer.take();
    if (piece !== undefined) yield piece;
  }
  const { depth: open, inString } = scan;
  if (open === 0 && !inString) pending.end(Buffer.alloc(0));
  batch?.close();
  const last = writer.take(true);
  if (last !== undefined) yield last;
  if (open > 0 || inString) {
    const message = `${name} ends within a JSON value at byte ${bytes}: expected ${open} more closing brackets; is it truncated?`;
    throw new SourceWaitError(message, { unlimited: false });
  }
}

/** Reads records of a JSON text sequence. A broken record affects no other. */
export async function* readSequence(
  chunks: AsyncIterable<Buffer>,
  place: (record: number) => string,
): AsyncGenerator<Piece> {
  const writer = createLineWriter();
  const pending = createPending(writer, place);
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(recordSeparator); at !== -1; at = chunk.indexOf(recordSeparator, from)) {
      pending.end(chunk.subarray(from, at));
      from = at + 1;
    }
    pending.add(chunk.subarray(from));
    const piece = writer.take();
    if (piece !== undefined) yield piece;
  }
  pending.end(Buffer.alloc(0));
  const last = writer.take(true);
  if (last !== undefined) yield last;
}

function startOf(layout: ValueLayout, list = 'batch'): Scan {
  const base = layout === 'objects' ? 0 : -1;
  const strings = { inString: false, escaped: false, inRecord: false };
  return { layout, list, depth: 0, base, ...strings, listed: layout === 'objects', key: [], before: 0 };
}

/**
 * Returns the layout of the first object: a batch, one object over several lines, or one per line.
 * @param head begins with `{`
 */
export function layoutOfObject(head: Buffer, list = 'batch'): ValueLayout | 'lines' {
  const scan = startOf('batch', list);
  let lineDepth: number | undefined;
  for (let at = 0; at < head.length; at += 1) {
    if (scan.inString) {
      at = skipString(scan, head, at);
      continue;
    }
    const byte = head[at] as number;
    if (byte === newline) lineDepth ??= scan.depth;
    if (byte <= 0x20) continue;
    step(scan, byte);
    scan.before = byte;
    if (scan.listed) return /^\s*[{\]]/.test(head.toString('latin1', at + 1, at + 200)) ? 'batch' : 'lines';
    if (scan.depth === 0) break;
  }
  // A truncated line is followed by another object.
  const next = head.toString('latin1', head.indexOf(newline) + 1).trimStart();
  return lineDepth !== undefined && lineDepth > 0 && !next.startsWith('{') ? 'objects' : 'lines';
}

interface Pending {
  /** Adds bytes of the current record. */
  add(bytes: Buffer): void;
  /** Ends the current record with its last bytes; an empty record is ignored. */
  end(bytes: Buffer): void;
  /** Adds bytes of a top-level value outside its records. */
  outside(bytes: Buffer): void;
  /** Ends a top-level value. `listed`: it contained a list of records. */
  close(listed: boolean): void;
}

interface PendingOptions {
  readonly list?: string;
  readonly batch?: BatchMembers | undefined;
}

function createPending(
  writer: LineWriter,
  place: (record: number) => string,
  { list = 'batch', batch }: PendingOptions = {},
): Pending {
  const target = batch ?? writer;
  let parts: Buffer[] = [];
  let size = 0;
  let records = 0;
  const head = (): Buffer => parts[0] ?? Buffer.alloc(0);
  return {
    add(bytes) {
      size += bytes.length;
      if (bytes.length > 0 && (size <= recordBytesMax || parts.length === 0)) parts.push(bytes);
      if (size > recordBytesMax) parts = [head().subarray(0, 4096)];
    },
    end(bytes) {
      if (
        size + bytes.length <= blankBytesMax &&
        Buffer.concat([...parts, bytes])
          .toString()
          .trim() === ''
      ) {
        parts = [];
        size = 0;
        return;
      }
      records += 1;
      if (size + bytes.length > recordBytesMax)
        writer.fault(tooLong({ place: place(records), line: records }, parts[0] ?? bytes));
      else target.record([...parts, bytes]);
      parts = [];
      size = 0;
    },
    outside: (bytes) => batch?.outside(bytes),
    close(listed) {
      batch?.end(place(records));
      if (listed) return;
      const reason = `expected a list of records, or an object with one in "${list}"; got an object without`;
      writer.fault({ place: `after ${place(records)}`, reason, original: '' });
    },
  };
}

function cut(scan: Scan, chunk: Buffer, pending: Pending): void {
  let from = 0;
  let outside = 0;
  for (let at = 0; at < chunk.length; at += 1) {
    if (scan.inString) {
      at = skipString(scan, chunk, at);
      continue;
    }
    const byte = chunk[at] as number;
    if (byte <= 0x20 || (scan.inRecord && structural[byte] === 0)) continue;
    if (!scan.inRecord && scan.depth === scan.base && startsRecord(scan, byte)) {
      scan.inRecord = true;
      from = at;
    }
    const { base } = scan;
    const end = step(scan, byte);
    scan.before = byte;
    if (scan.base > base) pending.outside(chunk.subarray(outside, at + 1));
    if (scan.base < base) outside = at;
    if (end !== 'none') pending.end(chunk.subarray(from, end === 'after' ? at + 1 : at));
    if (scan.depth === 0 && scan.layout !== 'objects' && (byte === closeBrace || byte === closeBracket)) {
      pending.outside(chunk.subarray(outside, at + 1));
      pending.close(scan.listed);
      outside = at + 1;
    }
    if (end === 'none') continue;
    scan.inRecord = false;
    from = at + 1;
  }
  if (scan.inRecord) pending.add(chunk.subarray(from));
  if (scan.base === -1) pending.outside(chunk.subarray(outside));
}

/** Returns the position of the last byte of the string or of the chunk. */
function skipString(scan: Scan, chunk: Buffer, from: number): number {
  const takesKey = scan.layout === 'batch' && scan.depth === 1 && scan.base === -1;
  let at = from;
  if (scan.escaped && at < chunk.length) {
    scan.escaped = false;
    at += 1;
  }
  for (; at < chunk.length; at += 1) {
    const byte = chunk[at] as number;
    if (byte === quote) break;
    if (byte === backslash) at += 1;
  }
  scan.escaped = at > chunk.length;
  if (takesKey) scan.key.push(...chunk.subarray(from, Math.min(at, chunk.length, from + keyBytesMax)));
  if (at >= chunk.length) return chunk.length;
  scan.inString = false;
  scan.before = quote;
  return at;
}

function startsRecord(scan: Scan, byte: number): boolean {
  if (byte === comma) return false;
  return scan.layout === 'objects' || byte !== closeBracket;
}

/** Processes one byte outside strings. Returns whether the record ends before it, after it, or not here. */
function step(scan: Scan, byte: number): 'none' | 'before' | 'after' {
  if (byte === quote) {
    scan.inString = true;
    scan.key = [];
    return 'none';
  }
  if (byte === openBrace || byte === openBracket) return open(scan, byte);
  if (byte === closeBrace || byte === closeBracket) return close(scan, byte);
  return byte === comma && scan.inRecord && scan.base > 0 && scan.depth === scan.base ? 'before' : 'none';
}

function open(scan: Scan, byte: number): 'none' {
  const begins = scan.base === -1 && byte === openBracket && isList(scan);
  if (scan.depth === 0 && scan.layout !== 'objects') scan.listed = false;
  scan.depth += 1;
  if (begins) {
    scan.base = scan.depth;
    scan.listed = true;
  }
  return 'none';
}

/** Whether the current bracket opens the list of records. */
function isList(scan: Scan): boolean {
  if (scan.layout === 'array') return scan.depth === 0;
  return scan.depth === 1 && scan.before === colon && Buffer.from(scan.key).toString('latin1') === scan.list;
}

function close(scan: Scan, byte: number): 'none' | 'before' | 'after' {
  if (scan.base > 0 && scan.depth === scan.base) {
    // An extra brace belongs to the record, which the check rejects; the list continues.
    if (byte === closeBrace) return 'none';
    scan.depth -= 1;
    scan.base = -1;
    return scan.inRecord ? 'before' : 'none';
  }
  if (scan.depth > 0) scan.depth -= 1;
  return scan.layout === 'objects' && scan.inRecord && scan.depth === 0 ? 'after' : 'none';
}
