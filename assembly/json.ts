/**
 * JSON (RFC 8259) over bytes in memory, by the rules of src/wire/batch/json-syntax.ts: a function takes the position of the first byte
 * of a value and returns the position after its last one, or 0 if it is not JSON (or deeper than `limitDepth` allows). It gives no
 * reason and does not check UTF-8.
 *
 * The text must be followed by a zero byte and 16 readable bytes from there: JSON contains no zero byte, so every function stops there,
 * and blocks of 16 can be read.
 */
export const QUOTE: u32 = 0x22;
export const COMMA: u32 = 0x2c;
export const COLON: u32 = 0x3a;
export const BACKSLASH: u32 = 0x5c;
export const OPEN_ARRAY: u32 = 0x5b;
export const CLOSE_ARRAY: u32 = 0x5d;
export const OPEN_OBJECT: u32 = 0x7b;
export const CLOSE_OBJECT: u32 = 0x7d;
/** First letters of true, false, null and four-digit escapes; no other value begins with them. */
export const LETTER_T: u32 = 0x74;
export const LETTER_F: u32 = 0x66;
export const LETTER_N: u32 = 0x6e;
export const LETTER_U: u32 = 0x75;
const MINUS: u32 = 0x2d;
const PLUS: u32 = 0x2b;
const POINT: u32 = 0x2e;
const ZERO: u32 = 0x30;

/**
 * `:"` and `,"` as a load of two bytes returns them. Most keys and values begin so: testing for them before `valueStart` and `nextKey`
 * saves a tenth of a pass.
 */
export const COLON_QUOTE: u32 = 0x223a;
export const COMMA_QUOTE: u32 = 0x222c;

/** Texts are read in blocks. */
const BLOCK: usize = 16;

/** `true`, `null` and the end of `false`, as a load of four bytes returns them. */
const WORD_TRUE: u32 = 0x65757274;
const WORD_NULL: u32 = 0x6c6c756e;
const WORD_ALSE: u32 = 0x65736c61;

let keys: i32 = 0;
let depthMax: i32 = 0;
let hasEscapedLetter: bool = false;

/** Sets the maximum nesting of containers. They are a recursion: the caller must limit this to its stack. */
export function limitDepth(containers: i32): void {
  depthMax = containers;
}

export function isTooDeep(containers: i32): bool {
  return containers > depthMax;
}

/** Keys passed since `forgetKeys`. */
export function keysPassed(): i32 {
  return keys;
}

export function forgetKeys(): void {
  keys = 0;
}

/** Split in two, so that the first is small enough to be inlined at every call. */
export function spaceEnd(at: usize): usize {
  return load<u8>(at) > 0x20 ? at : wideSpaceEnd(at);
}

function wideSpaceEnd(at: usize): usize {
  while (isSpace(load<u8>(at))) at++;
  return at;
}

function isSpace(byte: u32): bool {
  return byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09;
}

/** Takes the opening quote and returns the position after the closing one. */
export function textEnd(at: usize): usize {
  at++;
  while (true) {
    const block = v128.load(at);
    const ends = i8x16.eq(block, i8x16.splat(<i8>QUOTE));
    const escapes = i8x16.eq(block, i8x16.splat(<i8>BACKSLASH));
    const controls = i8x16.lt_u(block, i8x16.splat(0x20));
    const mask = i8x16.bitmask(v128.or(v128.or(ends, escapes), controls));
    if (mask == 0) {
      at += BLOCK;
      continue;
    }
    at += ctz(mask);
    const byte: u32 = load<u8>(at);
    if (byte == QUOTE) return at + 1;
    if (byte != BACKSLASH) return 0;
    at = escapeEnd(at);
    if (at == 0) return 0;
  }
}

function escapeEnd(at: usize): usize {
  switch (load<u8>(at + 1)) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2;
    case 0x75: // u
      for (let digit: usize = 2; digit < 6; digit++) if (!isHex(load<u8>(at + digit))) return 0;
      if (isLetter(at + 2)) hasEscapedLetter = true;
      return at + 6;
    default:
      return 0;
  }
}

/** Whether four digits are `0024`, or from `0050` to `007f`. */
function isLetter(at: usize): bool {
  if (load<u16>(at) != 0x3030) return false;
  const third: u32 = load<u8>(at + 2);
  return (third >= 0x35 && third < 0x38) || load<u16>(at + 2) == 0x3432;
}

function isHex(byte: u32): bool {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

function isDigit(byte: u32): bool {
  return byte - ZERO < 10;
}

export function numberEnd(at: usize): usize {
  if (load<u8>(at) == MINUS) at++;
  at = load<u8>(at) == ZERO ? at + 1 : digitsEnd(at);
  if (at != 0 && load<u8>(at) == POINT) at = digitsEnd(at + 1);
  if (at == 0) return 0;
  // E and e differ by one bit.
  if ((load<u8>(at) | 0x20) != 0x65) return at;
  const sign: u32 = load<u8>(at + 1);
  return digitsEnd(sign == PLUS || sign == MINUS ? at + 2 : at + 1);
}

/** At least one digit is required. */
function digitsEnd(at: usize): usize {
  if (!isDigit(load<u8>(at))) return 0;
  do at++;
  while (isDigit(load<u8>(at)));
  return at;
}

/** Takes any value. `depth` is the number of containers around it. */
export function valueEnd(at: usize, depth: i32): usize {
  const byte: u32 = load<u8>(at);
  if (byte == QUOTE) return textEnd(at);
  if (byte == OPEN_OBJECT) return objectEnd(at, depth + 1);
  if (byte == OPEN_ARRAY) return arrayEnd(at, depth + 1);
  if (byte == LETTER_T) return load<u32>(at) == WORD_TRUE ? at + 4 : 0;
  if (byte == LETTER_F) return load<u32>(at + 1) == WORD_ALSE ? at + 5 : 0;
  if (byte == LETTER_N) return load<u32>(at) == WORD_NULL ? at + 4 : 0;
  return numberEnd(at);
}

function objectEnd(at: usize, depth: i32): usize {
  if (isTooDeep(depth)) return 0;
  at = firstKey(at);
  while (at != 0 && load<u8>(at) == QUOTE) {
    const end = keyEnd(at);
    const value = end == 0 ? 0 : valueStart(end);
    at = value == 0 ? 0 : valueEnd(value, depth);
    if (at != 0) at = nextKey(at);
  }
  return at == 0 ? 0 : at + 1;
}

function arrayEnd(at: usize, depth: i32): usize {
  if (isTooDeep(depth)) return 0;
  at = firstElement(at);
  while (at != 0 && load<u8>(at) != CLOSE_ARRAY) {
    at = valueEnd(at, depth);
    if (at != 0) at = nextElement(at);
  }
  return at == 0 ? 0 : at + 1;
}

/** From the `{` to the quote of the first key, or to the `}`. */
export function firstKey(at: usize): usize {
  at = spaceEnd(at + 1);
  const byte: u32 = load<u8>(at);
  return byte == QUOTE || byte == CLOSE_OBJECT ? at : 0;
}

/** From the end of a value in an object to the quote of the next key, or to the `}`. */
export function nextKey(at: usize): usize {
  at = spaceEnd(at);
  const byte: u32 = load<u8>(at);
  if (byte == CLOSE_OBJECT) return at;
  if (byte != COMMA) return 0;
  at = spaceEnd(at + 1);
  return load<u8>(at) == QUOTE ? at : 0;
}

/** From the quote of a key to after its closing one. Counts the key. */
export function keyEnd(at: usize): usize {
  keys++;
  hasEscapedLetter = false;
  return textEnd(at);
}

/**
 * Whether the last key may contain a small letter, `$` or `_` as a number (`\u0061`). If not, it is no other spelling of a key that
 * consists of these alone.
 */
export function isEscapedKey(): bool {
  return hasEscapedLetter;
}

/** From the end of a key to its value. */
export function valueStart(at: usize): usize {
  at = spaceEnd(at);
  return load<u8>(at) == COLON ? spaceEnd(at + 1) : 0;
}

/** From the `[` to the first element, or to the `]`. */
export function firstElement(at: usize): usize {
  return spaceEnd(at + 1);
}

/** From the end of an element to the next one, or to the `]`. The byte after a comma is not checked yet. */
export function nextElement(at: usize): usize {
  at = spaceEnd(at);
  const byte: u32 = load<u8>(at);
  if (byte == CLOSE_ARRAY) return at;
  if (byte != COMMA) return 0;
  at = spaceEnd(at + 1);
  return load<u8>(at) == CLOSE_ARRAY ? 0 : at;
}
