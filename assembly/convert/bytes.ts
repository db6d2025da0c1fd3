// Bytes in the form that JSON.stringify writes. Functions take a position and return the one after the value; 0 if it has another
// form, is not JSON, or is so large that the reader should handle it. Input must be followed by 16 readable bytes.

import {
  BACKSLASH,
  CLOSE_ARRAY as CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY as OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
} from '../json';

export { BACKSLASH, CLOSE_LIST, CLOSE_OBJECT, COLON, COMMA, OPEN_LIST, OPEN_OBJECT, QUOTE };

const MINUS: u32 = 0x2d;
const ZERO: u32 = 0x30;

const DEPTH_MAX: i32 = 32;
/** Maximum members of a nested object; keys are compared pairwise. */
const KEYS_MAX: i32 = 32;

/** Keys of all objects of a record. */
let counted: i32 = 0;

export function clearKeys(): void {
  counted = 0;
}

export function countKey(): void {
  counted += 1;
}

export function keysCounted(): i32 {
  return counted;
}

export function byteAt(at: usize): u32 {
  return load<u8>(at);
}

export function isDigit(byte: u32): bool {
  return byte - ZERO < 10;
}

export function sameBytes(one: usize, other: usize, length: usize): bool {
  let at: usize = 0;
  for (; at + 8 <= length; at += 8) if (load<u64>(one + at) != load<u64>(other + at)) return false;
  for (; at < length; at++) if (load<u8>(one + at) != load<u8>(other + at)) return false;
  return true;
}

/** May write up to 15 extra bytes, which the next write covers; returns the end. */
export function copyTo(to: usize, from: usize, length: usize): usize {
  if (length > 256) {
    memory.copy(to, from, length);
    return to + length;
  }
  for (let at: usize = 0; at < length; at += 16) v128.store(to + at, v128.load(from + at));
  return to + length;
}

export function skipSpace(at: usize): usize {
  let byte = byteAt(at);
  while (byte == 0x20 || byte == 0x09 || byte == 0x0d || byte == 0x0a) byte = byteAt(++at);
  return at;
}

/** Returns the position of the next byte that is a quote, a backslash or a control character. */
function plainEnd(from: usize): usize {
  let at = from;
  while (true) {
    const chunk = v128.load(at);
    const marks = v128.or(
      v128.or(i8x16.eq(chunk, i8x16.splat(0x22)), i8x16.eq(chunk, i8x16.splat(0x5c))),
      i8x16.lt_u(chunk, i8x16.splat(0x20)),
    );
    const found = i8x16.bitmask(marks);
    if (found != 0) return at + ctz(found);
    at += 16;
  }
}

/** Returns the end of the line. */
export function endOfLine(from: usize): usize {
  let at = from;
  while (true) {
    const found = i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(0x0a)));
    if (found != 0) return at + ctz(found);
    at += 16;
  }
}

/** Takes the opening quote of a text without escapes. */
export function plainTextEnd(from: usize): usize {
  const at = plainEnd(from + 1);
  return byteAt(at) == QUOTE ? at + 1 : 0;
}

/** Whether JSON.stringify writes this escape itself: `\" \\ \b \f \n \r \t`. */
function isOwnEscape(byte: u32): bool {
  return (
    byte == QUOTE || byte == BACKSLASH || byte == 0x62 || byte == 0x66 || byte == 0x6e || byte == 0x72 || byte == 0x74
  );
}

export function textEnd(from: usize): usize {
  let at = from + 1;
  while (true) {
    at = plainEnd(at);
    const byte = byteAt(at);
    if (byte == QUOTE) return at + 1;
    if (byte != BACKSLASH || !isOwnEscape(byteAt(at + 1))) return 0;
    at += 2;
  }
}

/** Takes the first byte of any value. */
export function valueEnd(at: usize): usize {
  return valueEndAt(at, 0);
}

function valueEndAt(at: usize, depth: i32): usize {
  const byte = byteAt(at);
  if (byte == QUOTE) return textEnd(at);
  if (byte == MINUS || isDigit(byte)) return numberEnd(at);
  if (byte == OPEN_OBJECT) return depth < DEPTH_MAX ? objectEnd(at, depth) : 0;
  if (byte == OPEN_LIST) return depth < DEPTH_MAX ? listEnd(at, depth) : 0;
  return wordEnd(at);
}

/**
 * Accepts numbers that JavaScript stores and writes unchanged: at most 15 digits (16 for whole numbers below 9 · 10^15, such as times in
 * microseconds), no exponent, no redundant zeros, and not so small that they would get an exponent.
 */
export function numberEnd(from: usize): usize {
  const first = byteAt(from) == MINUS ? from + 1 : from;
  let at = first;
  while (isDigit(byteAt(at))) at++;
  const whole = <i32>(at - first);
  const isZero = byteAt(first) == ZERO;
  if (whole == 0 || (whole > 1 && isZero)) return 0;
  let byte = byteAt(at);
  if (byte != 0x2e) {
    const isLong = whole > 15 && (whole > 16 || byteAt(first) == 0x39);
    return isLong || (isZero && first > from) || byte == 0x65 || byte == 0x45 ? 0 : at;
  }
  const dot = at;
  at++;
  while (byteAt(at) == ZERO) at++;
  const zeros = <i32>(at - dot) - 1;
  while (isDigit(byteAt(at))) at++;
  byte = byteAt(at);
  // Also fails if there is no digit at all.
  if (byteAt(at - 1) == ZERO || at == dot + 1 || byte == 0x65 || byte == 0x45) return 0;
  return <i32>(at - dot) - 1 + whole > 15 || (isZero && zeros > 5) ? 0 : at;
}

function wordEnd(at: usize): usize {
  const word = load<u32>(at);
  if (word == 0x65757274 || word == 0x6c6c756e) return at + 4; // true, null
  return word == 0x736c6166 && byteAt(at + 4) == 0x65 ? at + 5 : 0; // false
}

function listEnd(from: usize, depth: i32): usize {
  if (byteAt(from + 1) == CLOSE_LIST) return from + 2;
  let at = from;
  do {
    at = valueEndAt(at + 1, depth + 1);
    if (at == 0) return 0;
  } while (byteAt(at) == COMMA);
  return byteAt(at) == CLOSE_LIST ? at + 1 : 0;
}

/** Start and end of the keys of all open objects: pairs of positions. */
const openKeys: usize = memory.data(2 * 4 * KEYS_MAX * (DEPTH_MAX + 1), 8);

function objectEnd(from: usize, depth: i32): usize {
  if (byteAt(from + 1) == CLOSE_OBJECT) return from + 2;
  const keys = openKeys + ((<usize>(depth * KEYS_MAX)) << 3);
  let count: i32 = 0;
  let at = from;
  do {
    const key = at + 1;
    const end = byteAt(key) == QUOTE ? plainTextEnd(key) : 0;
    if (end == 0 || byteAt(end) != COLON || count == KEYS_MAX) return 0;
    // A key of digits only would move to the front.
    if (isDigit(byteAt(key + 1)) || hasKey(keys, count, key, end)) return 0;
    store<u32>(keys + ((<usize>count) << 3), key);
    store<u32>(keys + ((<usize>count) << 3) + 4, end);
    count++;
    counted++;
    at = valueEndAt(end + 1, depth + 1);
    if (at == 0) return 0;
  } while (byteAt(at) == COMMA);
  return byteAt(at) == CLOSE_OBJECT ? at + 1 : 0;
}

/** Of two members with the same name the last one counts. */
function hasKey(keys: usize, count: i32, from: usize, to: usize): bool {
  for (let index: i32 = 0; index < count; index++) {
    const other: usize = load<u32>(keys + ((<usize>index) << 3));
    const otherTo: usize = load<u32>(keys + ((<usize>index) << 3) + 4);
    if (otherTo - other == to - from && sameBytes(other, from, to - from)) return true;
  }
  return false;
}

/** Tests for a quote first, because most values are plain texts. */
export function endOfValue(from: usize): usize {
  if (byteAt(from) == QUOTE) {
    const end = plainTextEnd(from);
    if (end != 0) return end;
  }
  return valueEnd(from);
}

/** Returns the end of a null; 0 for any other value. */
export function nullEnd(from: usize): usize {
  return load<u32>(from) == 0x6c6c756e ? from + 4 : 0;
}

/** Hashes eight bytes at a time and mixes the bits, so that the last ones depend on all. */
export function hashOf(from: usize, length: usize): u32 {
  let hash: u64 = <u64>length * HASH_SPREAD;
  let at = from;
  const to = from + length;
  for (; at + 8 <= to; at += 8) hash = mixed(hash ^ load<u64>(at));
  let rest: u64 = 0;
  for (; at < to; at++) rest = (rest << 8) | load<u8>(at);
  hash = mixed(hash ^ rest);
  return <u32>(hash ^ (hash >> 32));
}

const HASH_SPREAD: u64 = 0x9e3779b97f4a7c15;

export function mixed(word: u64): u64 {
  const spread = word * HASH_SPREAD;
  return spread ^ (spread >> 29);
}
