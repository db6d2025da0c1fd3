// Writes a value as canonicalJson does, with the members of every object in order.
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  byteAt,
  isDigit,
  plainTextEnd,
  skipSpace,
} from './bytes';

/** Maximum members of one object; larger ones are sorted by the program. */
const MEMBERS_MAX: u32 = 128;
const LEVELS_MAX: u32 = 40;
const MEMBER_BYTES: usize = 12;
/** From this byte on the order of bytes may differ from that of the characters. */
const ORDER_BYTE_MAX: u32 = 0xed;

/** By level of nesting, for each member: start and end of the key, start of the value. */
const levels: usize = memory.data(40 * 128 * 12, 8);

/**
 * Takes values in the form of JSON.stringify except for white space between tokens, and needs as many bytes at `at`. Returns the end
 * of the output; 0 if the value is too large to be sorted here.
 */
export function writeContent(from: usize, at: usize): usize {
  return writeValue(from, at, 0);
}

function writeValue(from: usize, at: usize, level: u32): usize {
  const byte = byteAt(from);
  if (byte == OPEN_OBJECT) return level < LEVELS_MAX ? writeObject(from, at, level) : 0;
  if (byte == OPEN_LIST) return writeList(from, at, level);
  return copy(from, valueEnd(from), at);
}

class Member {
  key: usize;
  keyEnd: usize;
  value: usize;
}

function memberAt(first: usize, index: u32): Member {
  return changetype<Member>(first + <usize>index * MEMBER_BYTES);
}

function writeObject(from: usize, start: usize, level: u32): usize {
  const first = levels + <usize>level * MEMBERS_MAX * MEMBER_BYTES;
  const count = readMembers(from, first);
  if (count < 0) return 0;
  let at = start;
  store<u8>(at++, OPEN_OBJECT);
  for (let index: u32 = 0; index < <u32>count; index++) {
    const member = memberAt(first, index);
    if (index > 0) store<u8>(at++, COMMA);
    at = copy(member.key, member.keyEnd, at);
    store<u8>(at++, COLON);
    at = writeValue(member.value, at, level + 1);
    if (at == 0) return 0;
  }
  store<u8>(at++, CLOSE_OBJECT);
  return at;
}

/** Reads members in the order of their keys; negative if there are too many, or bytes do not determine the order. */
function readMembers(from: usize, first: usize): i32 {
  let count: u32 = 0;
  let at = skipSpace(from + 1);
  while (byteAt(at) == QUOTE) {
    const keyEnd = plainTextEnd(at);
    if (keyEnd == 0 || count == MEMBERS_MAX) return -1;
    for (let byte = at; byte < keyEnd; byte++) if (byteAt(byte) > ORDER_BYTE_MAX) return -1;
    const value = skipSpace(skipSpace(keyEnd) + 1);
    insert(first, count, at, keyEnd, value);
    count++;
    at = skipSpace(valueEnd(value));
    if (byteAt(at) == COMMA) at = skipSpace(at + 1);
  }
  return count;
}

function insert(first: usize, count: u32, key: usize, keyEnd: usize, value: usize): void {
  let index = count;
  while (index > 0) {
    const before = memberAt(first, index - 1);
    if (compareKeys(before.key, before.keyEnd, key, keyEnd) <= 0) break;
    memory.copy(first + <usize>index * MEMBER_BYTES, changetype<usize>(before), MEMBER_BYTES);
    index--;
  }
  const member = memberAt(first, index);
  member.key = key;
  member.keyEnd = keyEnd;
  member.value = value;
}

/** Compares keys without their quotes. */
function compareKeys(one: usize, oneEnd: usize, other: usize, otherEnd: usize): i32 {
  const length = min(oneEnd - one, otherEnd - other) - 1;
  for (let at: usize = 1; at < length; at++) {
    const difference = <i32>byteAt(one + at) - <i32>byteAt(other + at);
    if (difference != 0) return difference;
  }
  return <i32>(oneEnd - one) - <i32>(otherEnd - other);
}

function writeList(from: usize, start: usize, level: u32): usize {
  let at = start;
  let next = from;
  do {
    store<u8>(at++, byteAt(next++));
    if (byteAt(next) == CLOSE_LIST) break;
    const end = valueEnd(next);
    at = writeValue(next, at, level);
    if (at == 0) return 0;
    next = end;
  } while (byteAt(next) == COMMA);
  store<u8>(at++, CLOSE_LIST);
  return at;
}

/** Takes a valid value. */
function valueEnd(from: usize): usize {
  let at = from;
  let depth: i32 = 0;
  do {
    const byte = byteAt(at);
    if (byte == QUOTE) at = textEnd(at);
    else {
      const isOpening = byte == OPEN_OBJECT || byte == OPEN_LIST;
      const isClosing = byte == CLOSE_OBJECT || byte == CLOSE_LIST;
      if (isOpening) depth++;
      else if (isClosing) depth--;
      at++;
      if (depth == 0 && !isClosing) at = wordEnd(at);
    }
  } while (depth > 0);
  return at;
}

function textEnd(from: usize): usize {
  const plain = plainTextEnd(from);
  if (plain != 0) return plain;
  let at = from + 1;
  while (byteAt(at) != QUOTE) at += byteAt(at) == BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Takes a number, true, false or null. */
function wordEnd(from: usize): usize {
  let at = from;
  while (isOfWord(byteAt(at))) at++;
  return at;
}

function isOfWord(byte: u32): bool {
  return isDigit(byte) || (byte >= 0x61 && byte <= 0x7a) || byte == 0x2e || byte == 0x2d;
}

function copy(from: usize, to: usize, at: usize): usize {
  memory.copy(at, from, to - from);
  return at + to - from;
}
