/**
 * Cuts a stream of JSON into its records without building an object: elements of an array, elements of a batch object's
 * `batch`, or lines (NDJSON). Memory holds one chunk and one unfinished record, however long the stream is.
 */
export interface RawRecord {
  /** Where it stood, for a person: `line 7` or `element 7`. */
  readonly place: string;
  /** JSON text as it stood; checked by nobody yet. */
  readonly text: string;
}

/** The input cannot be cut into records (any further). */
export class InputError extends Error {
  override name = 'InputError';
}

/** What a batch object says of all its events. */
export interface BatchHeader {
  readonly historicalMigration: boolean;
}

/** No record is larger: an event above 1 MB is refused by the service anyway. */
export const recordBytesMax = 32 * 1024 * 1024;
/** Enough to see what kind of input this is. */
const peekBytes = 64 * 1024;

const [quote, backslash, comma, colon, newline] = [0x22, 0x5c, 0x2c, 0x3a, 0x0a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** `onHeader` hears of a batch object before its first record. Errors: InputError. */
export async function* splitRecords(
  chunks: AsyncIterable<Buffer>,
  onHeader: (header: BatchHeader) => void = () => {},
): AsyncGenerator<RawRecord[]> {
  const source = chunks[Symbol.asyncIterator]();
  const head = await peek(source);
  const rest = rejoin(head, source);
  const start = firstByte(head);
  if (start === head.length) return;
  if (head[start] === openBracket) yield* elements(rest, start + 1);
  else if (head[start] === openBrace) yield* objects(head, start, rest, onHeader);
  else
    throw new InputError(
      `expected JSON that starts with "[" or "{", got: ${JSON.stringify(head.toString('utf8', start, start + 20))}`,
    );
}

async function* objects(
  head: Buffer,
  start: number,
  rest: AsyncIterable<Buffer>,
  onHeader: (header: BatchHeader) => void,
): AsyncGenerator<RawRecord[]> {
  const batch = findBatch(head, start);
  if (batch === undefined) return yield* isOnePrettyObject(head, start) ? wholeObject(rest) : lines(rest);
  onHeader({ historicalMigration: /"historical_migration"\s*:\s*true/.test(head.toString('utf8', start, batch)) });
  yield* elements(rest, batch);
}

async function peek(source: AsyncIterator<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  while (size < peekBytes) {
    const { value, done } = await source.next();
    if (done === true) break;
    parts.push(value);
    size += value.length;
  }
  return Buffer.concat(parts);
}

async function* rejoin(head: Buffer, source: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  for (;;) {
    const { value, done } = await source.next();
    if (done === true) return;
    yield value;
  }
}

/** After a byte order mark and white space. */
function firstByte(head: Buffer): number {
  let at = head.subarray(0, 3).equals(Buffer.from('\uFEFF')) ? 3 : 0;
  while (at < head.length && isSpace(head[at])) at += 1;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09;
}

/** Offset after the `[` of a top-level member `"batch": [` of the first object, when the head holds it. */
function findBatch(head: Buffer, start: number): number | undefined {
  let [depth, inString, stringStart, key] = [0, false, 0, ''];
  for (let at = start; at < head.length; at += 1) {
    const byte = head[at];
    if (inString) {
      if (byte === backslash) at += 1;
      else if (byte === quote) {
        inString = false;
        if (depth === 1) key = head.toString('utf8', stringStart, at);
      }
    } else if (byte === quote) [inString, stringStart] = [true, at + 1];
    else if (byte === openBracket && depth === 1 && key === 'batch' && follows(head, at, colon)) return at + 1;
    else if (byte === openBrace || byte === openBracket) depth += 1;
    else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth === 0) return undefined;
    }
  }
  return undefined;
}

/** Whether `byte` is the last one before `at`, white space aside. */
function follows(head: Buffer, at: number, byte: number): boolean {
  let before = at - 1;
  while (before >= 0 && isSpace(head[before])) before -= 1;
  return head[before] === byte;
}

/** A single object over several lines, as opposed to one object per line of which the first is damaged. */
function isOnePrettyObject(head: Buffer, start: number): boolean {
  const end = head.indexOf(newline, start);
  if (end === -1) return false;
  const line = head.toString('utf8', start, end).trim();
  const next = head.toString('utf8', end, end + 200).trimStart();
  return /[{[,]$/.test(line) && !next.startsWith('{');
}

async function* wholeObject(chunks: AsyncIterable<Buffer>): AsyncGenerator<RawRecord[]> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    size += chunk.length;
    if (size > recordBytesMax)
      throw new InputError(`expected a single object of up to ${recordBytesMax} bytes, or one per line`);
  }
  yield [{ place: 'the object', text: Buffer.concat(parts).toString('utf8') }];
}

async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<RawRecord[]> {
  let line = 0;
  const pending = pendingBytes();
  const record = (bytes: Buffer): RawRecord[] => {
    line += 1;
    const text = bytes
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .trim();
    return text === '' ? [] : [{ place: `line ${line}`, text }];
  };
  for await (const chunk of chunks) {
    const records: RawRecord[] = [];
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      records.push(...record(pending.take(chunk.subarray(from, end))));
      from = end + 1;
    }
    pending.add(chunk.subarray(from), `line ${line + 1}`);
    if (records.length > 0) yield records;
  }
  yield record(pending.take());
}

async function* elements(chunks: AsyncIterable<Buffer>, skip: number): AsyncGenerator<RawRecord[]> {
  const state = { depth: 0, inString: false, escaped: false, ended: false };
  const pending = pendingBytes();
  let [element, left] = [0, skip];
  const record = (bytes: Buffer): RawRecord[] => {
    const text = bytes.toString('utf8').trim();
    if (text === '' && element === 0 && state.ended) return [];
    element += 1;
    return [{ place: `element ${element}`, text }];
  };
  for await (const chunk of chunks) {
    const records: RawRecord[] = [];
    let from = Math.min(left, chunk.length);
    left -= from;
    for (let at = nextEnd(chunk, from, state); at !== -1; at = nextEnd(chunk, from, state)) {
      records.push(...record(pending.take(chunk.subarray(from, at))));
      from = at + 1;
      if (state.ended) break;
    }
    if (records.length > 0) yield records;
    // What follows the array belongs to the batch object, which has been read.
    if (state.ended) return;
    pending.add(chunk.subarray(from), `element ${element + 1}`);
  }
  throw new InputError(`expected "]" at the end of the array, got the end of the input after element ${element}`);
}

/** Offset of the comma or bracket that ends the element at hand; -1 when it goes on in the next chunk. */
function nextEnd(
  chunk: Buffer,
  from: number,
  state: { depth: number; inString: boolean; escaped: boolean; ended: boolean },
): number {
  for (let at = from; at < chunk.length; at += 1) {
    const byte = chunk[at];
    if (state.inString) {
      if (state.escaped) state.escaped = false;
      else if (byte === backslash) state.escaped = true;
      else if (byte === quote) state.inString = false;
    } else if (byte === quote) state.inString = true;
    else if (byte === openBrace || byte === openBracket) state.depth += 1;
    else if (byte === closeBracket && state.depth === 0) {
      state.ended = true;
      return at;
    } else if (byte === closeBrace || byte === closeBracket) state.depth -= 1;
    else if (byte === comma && state.depth === 0) return at;
  }
  return -1;
}

/** The beginning of a record whose end has not come yet. */
function pendingBytes(): { add(bytes: Buffer, place: string): void; take(last?: Buffer): Buffer } {
  let parts: Buffer[] = [];
  let size = 0;
  return {
    add(bytes, place) {
      if (bytes.length === 0) return;
      parts.push(bytes);
      size += bytes.length;
      if (size > recordBytesMax)
        throw new InputError(`${place} is larger than ${recordBytesMax} bytes; is this a file of events?`);
    },
    take(last = Buffer.alloc(0)) {
      const whole = parts.length === 0 ? last : Buffer.concat([...parts, last]);
      parts = [];
      size = 0;
      return whole;
    },
  };
}
