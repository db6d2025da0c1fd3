/**
 * RFC 8259 over bytes: every function takes the position of an item's first byte and returns the position after its last one,
 * or throws. Nothing is decoded or allocated, so a body costs one pass and no garbage. UTF-8 is checked once for the whole body
 * (buffer.isUtf8) before.
 */
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openObject = 0x7b;
const closeObject = 0x7d;
const openArray = 0x5b;
const closeArray = 0x5d;

/** The body is not JSON, or not in a form that can contain events. `offset` counts bytes of the decoded body from 0. */
export class BodySyntaxError extends Error {
  override name = 'BodySyntaxError';
  readonly offset: number;
  readonly code: 'parse_error' | 'request_too_large';
  constructor(message: string, offset: number, code: 'parse_error' | 'request_too_large' = 'parse_error') {
    super(message);
    this.offset = offset;
    this.code = code;
  }
}

/** Measurements of skipping, in one object so that the functions allocate nothing. */
export interface Meter {
  /** Number of object keys passed. */
  keys: number;
  /** Deepest nesting seen, in containers. */
  depth: number;
  /** Whether the last skipped string contained a backslash. Only ever set; callers clear it first. */
  escaped: boolean;
  /** One bit per open container, 1 for an object. Grows with the nesting. */
  kinds: Uint32Array;
}

export function createMeter(): Meter {
  return { keys: 0, depth: 0, escaped: false, kinds: new Uint32Array(8) };
}

/** Creates an error with what was expected and the byte that was found. */
export function expected(json: Buffer, at: number, what: string): BodySyntaxError {
  return new BodySyntaxError(`expected ${what} at byte ${at}, got: ${shown(json, at)}`, at);
}

function shown(json: Buffer, at: number): string {
  const byte = json[at];
  if (byte === undefined) return 'the end of the body';
  if (byte > 0x20 && byte < 0x7f) return `"${String.fromCharCode(byte)}"`;
  return `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

export function skipSpace(json: Buffer, from: number): number {
  let at = from;
  let byte = json[at];
  while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = json[++at];
  return at;
}

/** Bytes allowed unescaped in a string: all but quotes, backslashes and control characters. */
const plain = new Uint8Array(256).fill(1, 0x20);
plain[quote] = 0;
plain[backslash] = 0;

/** Returns the position after a string without escapes, or -1 for any other or invalid string. */
export function plainStringEnd(json: Buffer, from: number): number {
  let at = from + 1;
  while (plain[json[at] as number] === 1) at++;
  return json[at] === quote ? at + 1 : -1;
}

/** Skips a string from its opening to after its closing quote. */
function skipString(json: Buffer, from: number, meter: Meter): number {
  let at = from + 1;
  for (;;) {
    // Past the end the byte is undefined, which is not >= 0x20 and also ends the loop.
    let byte = json[at] as number;
    while (byte >= 0x20 && byte !== quote && byte !== backslash) byte = json[++at] as number;
    if (byte === quote) return at + 1;
    if (byte === backslash) {
      meter.escaped = true;
      at = skipEscape(json, at);
    } else if (at < json.length) throw expected(json, at, 'a control character to be escaped');
    else throw expected(json, at, `the closing quote of the text that starts at byte ${from}`);
  }
}

function skipEscape(json: Buffer, from: number): number {
  switch (json[from + 1]) {
    case quote:
    case backslash:
    case 0x2f: // slash
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return from + 2;
    case 0x75: // u
      for (let at = from + 2; at < from + 6; at++) {
        if (!isHex(json[at])) throw expected(json, at, 'four hexadecimal digits after \\u');
      }
      return from + 6;
    default:
      throw expected(json, from + 1, 'one of "\\/bfnrtu after a backslash');
  }
}

function isHex(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function skipDigits(json: Buffer, from: number): number {
  if (!isDigit(json[from])) throw expected(json, from, 'a digit');
  let at = from + 1;
  while (isDigit(json[at])) at++;
  return at;
}

function skipNumber(json: Buffer, from: number): number {
  let at = json[from] === 0x2d ? from + 1 : from;
  at = json[at] === 0x30 ? at + 1 : skipDigits(json, at);
  if (json[at] === 0x2e) at = skipDigits(json, at + 1);
  if (json[at] === 0x65 || json[at] === 0x45) {
    const sign = json[at + 1];
    at = skipDigits(json, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
  }
  return at;
}

const words = { true: Buffer.from('true'), false: Buffer.from('false'), null: Buffer.from('null') };

function skipWord(json: Buffer, from: number, word: Buffer): number {
  for (let i = 0; i < word.length; i++) {
    if (json[from + i] !== word[i]) throw expected(json, from + i, `the word ${word.toString()}`);
  }
  return from + word.length;
}

function skipScalar(json: Buffer, at: number, meter: Meter): number {
  const byte = json[at];
  if (byte === quote) return skipString(json, at, meter);
  if (byte === 0x2d || isDigit(byte)) return skipNumber(json, at);
  if (byte === 0x74) return skipWord(json, at, words.true);
  if (byte === 0x66) return skipWord(json, at, words.false);
  if (byte === 0x6e) return skipWord(json, at, words.null);
  throw expected(json, at, 'a JSON value');
}

/** Skips from the quote of a key to the first byte of its value, and counts the key. */
function skipKey(json: Buffer, at: number, meter: Meter): number {
  meter.keys++;
  return skipColon(json, keyEnd(json, at, meter));
}

export function keyEnd(json: Buffer, at: number, meter: Meter): number {
  if (json[at] !== quote) throw expected(json, at, 'a key in quotes');
  return skipString(json, at, meter);
}

export function skipColon(json: Buffer, from: number): number {
  let at = from;
  if (json[at] !== colon) at = skipSpace(json, at);
  if (json[at] !== colon) throw expected(json, at, 'a colon after the key');
  at++;
  const byte = json[at];
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 ? skipSpace(json, at) : at;
}

/** Returns the position after a `{` or `[`: the first key or element, or the closing bracket. */
export function firstMember(json: Buffer, from: number, close: number): number {
  const at = skipSpace(json, from);
  if (close === closeObject && json[at] !== closeObject && json[at] !== quote) {
    throw expected(json, at, 'a key in quotes or }');
  }
  return at;
}

/** Returns the position after a value: the next key or element past a comma, or the closing bracket. */
export function nextMember(json: Buffer, from: number, close: number): number {
  let at = from;
  if (json[at] !== comma) at = skipSpace(json, at);
  if (json[at] === close) return at;
  if (json[at] !== comma) throw expected(json, at, close === closeObject ? 'a comma or }' : 'a comma or ]');
  at = skipSpace(json, at + 1);
  if (close === closeObject ? json[at] !== quote : json[at] === closeArray) {
    throw expected(json, at, close === closeObject ? 'a key in quotes' : 'a JSON value');
  }
  return at;
}

/** Skips any value. `depth` is the number of enclosing containers. */
export function skipValue(json: Buffer, at: number, meter: Meter, depth: number): number {
  const byte = json[at];
  if (byte === openObject || byte === openArray) return skipContainer(json, at, meter, depth);
  return skipScalar(json, at, meter);
}

/** Skips an object or array in a loop instead of a recursion, so that no nesting can exhaust the stack. */
function skipContainer(json: Buffer, from: number, meter: Meter, depth: number): number {
  let at = from;
  let open = 0;
  let inObject = false;
  for (;;) {
    const byte = json[at];
    if (byte === openObject || byte === openArray) {
      inObject = byte === openObject;
      open++;
      if (depth + open > meter.depth) meter.depth = depth + open;
      rememberKind(meter, open, inObject);
      at = firstMember(json, at + 1, inObject ? closeObject : closeArray);
      if (json[at] !== (inObject ? closeObject : closeArray)) {
        if (inObject) at = skipKey(json, at, meter);
        continue;
      }
    } else {
      at = nextMember(json, skipScalar(json, at, meter), inObject ? closeObject : closeArray);
    }
    while (json[at] === (inObject ? closeObject : closeArray)) {
      at++;
      if (--open === 0) return at;
      inObject = kindAt(meter, open);
      at = nextMember(json, at, inObject ? closeObject : closeArray);
    }
    if (inObject) at = skipKey(json, at, meter);
  }
}

function rememberKind(meter: Meter, level: number, isObject: boolean): void {
  const word = level >>> 5;
  if (word >= meter.kinds.length) {
    const larger = new Uint32Array(meter.kinds.length * 2);
    larger.set(meter.kinds);
    meter.kinds = larger;
  }
  const bit = 1 << (level & 31);
  const before = meter.kinds[word] as number;
  meter.kinds[word] = isObject ? before | bit : before & ~bit;
}

function kindAt(meter: Meter, level: number): boolean {
  return ((meter.kinds[level >>> 5] as number) & (1 << (level & 31))) !== 0;
}
