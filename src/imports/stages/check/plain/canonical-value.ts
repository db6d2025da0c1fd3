/**
 * JSON over bytes, for copying: whether a value stands there as JSON.stringify would write it after JSON.parse. Positions in, the
 * position behind the value out; -1 where it is written otherwise, is no JSON, or says so much that it is better read.
 */
export const notCanonical = -1;

export const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const minus = 0x2d;
const zero = 0x30;

const depthMax = 32;
/** Members of an object in a value; keys are compared each with each. */
const keysMax = 32;

/** Keys of all objects that were read since somebody set it back. */
export const counted: { keys: number } = { keys: 0 };

/** Bytes that a text may hold as they are: no quote, no backslash, no control character. */
const plain = new Uint8Array(256).fill(1, 0x20);
plain[quote] = 0;
plain[backslash] = 0;

/** Escapes that JSON.stringify writes itself: `\" \\ \b \f \n \r \t`. */
const isOwnEscape = new Uint8Array(256);
for (const letter of '"\\bfnrt') isOwnEscape[letter.charCodeAt(0)] = 1;

/** From the opening quote of a text without escapes. */
export function plainTextEnd(json: Buffer, from: number): number {
  let at = from + 1;
  while (plain[json[at] as number] === 1) at += 1;
  return json[at] === quote ? at + 1 : notCanonical;
}

/** From the first byte of any value. */
export function valueEnd(json: Buffer, at: number): number {
  return valueEndAt(json, at, 0);
}

function valueEndAt(json: Buffer, at: number, depth: number): number {
  const byte = json[at] as number;
  if (byte === quote) return textEnd(json, at);
  if (byte === minus || (byte >= zero && byte <= 0x39)) return numberEnd(json, at);
  if (byte === 0x7b) return depth < depthMax ? objectEnd(json, at, depth) : notCanonical;
  if (byte === 0x5b) return depth < depthMax ? listEnd(json, at, depth) : notCanonical;
  return wordEnd(json, at);
}

function textEnd(json: Buffer, from: number): number {
  let at = from + 1;
  for (;;) {
    while (plain[json[at] as number] === 1) at += 1;
    if (json[at] === quote) return at + 1;
    if (json[at] !== backslash || isOwnEscape[json[at + 1] as number] !== 1) return notCanonical;
    at += 2;
  }
}

/**
 * Digits that a JavaScript number holds and writes in the same way: at most 15 of them (16 where the number is whole and below
 * 9 · 10^15, as times in microseconds are), no exponent, no zeros without need, and
 * not so small that it would get an exponent.
 */
export function numberEnd(json: Buffer, from: number): number {
  const first = json[from] === minus ? from + 1 : from;
  let at = first;
  while (isDigit(json[at])) at += 1;
  const whole = at - first;
  if (whole === 0 || (whole > 1 && json[first] === zero)) return notCanonical;
  const isZero = json[first] === zero;
  if (json[at] !== 0x2e) {
    const isLong = whole > 15 && (whole > 16 || json[first] === 0x39);
    if (isLong || (isZero && first > from) || json[at] === 0x65 || json[at] === 0x45) return notCanonical;
    return at;
  }
  const dot = at;
  at += 1;
  while (json[at] === zero) at += 1;
  const zeros = at - dot - 1;
  while (isDigit(json[at])) at += 1;
  // Also where there is no digit at all.
  if (json[at - 1] === zero || at === dot + 1 || json[at] === 0x65 || json[at] === 0x45) return notCanonical;
  return at - dot - 1 + whole > 15 || (isZero && zeros > 5) ? notCanonical : at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= 0x39;
}

function wordEnd(json: Buffer, at: number): number {
  const [second, third, fourth] = [json[at + 1], json[at + 2], json[at + 3]];
  switch (json[at]) {
    case 0x74: // true
      return second === 0x72 && third === 0x75 && fourth === 0x65 ? at + 4 : notCanonical;
    case 0x66: // false
      return second === 0x61 && third === 0x6c && fourth === 0x73 && json[at + 4] === 0x65 ? at + 5 : notCanonical;
    case 0x6e: // null
      return second === 0x75 && third === 0x6c && fourth === 0x6c ? at + 4 : notCanonical;
    default:
      return notCanonical;
  }
}

function listEnd(json: Buffer, from: number, depth: number): number {
  if (json[from + 1] === 0x5d) return from + 2;
  let at = from;
  do {
    at = valueEndAt(json, at + 1, depth + 1);
    if (at < 0) return notCanonical;
  } while (json[at] === comma);
  return json[at] === 0x5d ? at + 1 : notCanonical;
}

/** Where the keys of the objects that are open begin and end. */
const keys = new Int32Array(2 * keysMax * (depthMax + 1));

function objectEnd(json: Buffer, from: number, depth: number): number {
  if (json[from + 1] === 0x7d) return from + 2;
  const first = depth * keysMax;
  let count = 0;
  let at = from;
  do {
    const key = at + 1;
    const end = json[key] === quote ? plainTextEnd(json, key) : notCanonical;
    if (end < 0 || json[end] !== colon || count === keysMax) return notCanonical;
    // A key of digits alone would move to the front.
    if (isDigit(json[key + 1]) || hasKey(json, first, count, key, end)) return notCanonical;
    keys[2 * (first + count)] = key;
    keys[2 * (first + count) + 1] = end;
    count += 1;
    counted.keys += 1;
    at = valueEndAt(json, end + 1, depth + 1);
    if (at < 0) return notCanonical;
  } while (json[at] === comma);
  return json[at] === 0x7d ? at + 1 : notCanonical;
}

/** Of two members of one name the last one counts. */
function hasKey(json: Buffer, first: number, count: number, from: number, to: number): boolean {
  for (let index = first; index < first + count; index += 1) {
    const other = keys[2 * index] as number;
    if ((keys[2 * index + 1] as number) - other === to - from && sameBytes(json, other, json, from, to - from))
      return true;
  }
  return false;
}

export function sameBytes(
  one: Uint8Array,
  from: number,
  other: Uint8Array,
  otherFrom: number,
  length: number,
): boolean {
  for (let at = 0; at < length; at += 1) if (one[from + at] !== other[otherFrom + at]) return false;
  return true;
}

/** White space between tokens: most have none. */
export function skipSpace(json: Buffer, from: number): number {
  let at = from;
  let byte = json[at];
  while (byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a) byte = json[(at += 1)];
  return at;
}
