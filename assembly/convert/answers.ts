// Answers that follow from some values of a record, cached by the bytes of these values: a newer one replaces an older one with the
// same hash.
import { copyTo, hashOf, sameBytes } from './bytes';
import { memberFrom, memberTo, propertyFrom, propertyTo } from './record';
import { answerTo } from './host';

/** A question about values of members or properties. */
export class Memo {
  number: i32;
  ofProperties: u32;
  /** Numbers of the members or properties; -1 for one that no record has. */
  numbers: usize;
  numberCount: u32;
  /** A power of two, minus one. */
  slotMask: u32;
  /** By slot: REMEMBERED_MAX bytes, their number plus one (0 if empty), the answer. */
  keys: usize;
  lengths: usize;
  answers: usize;
}

/** Bytes of a text in memory. */
export class Piece {
  from: usize;
  bytes: u32;
}

/** Longer keys are not cached. */
const REMEMBERED_MAX: usize = 248;
const KEY_BYTES_MAX: usize = 4096;

/** Includes room for the bytes that `copyTo` writes past the end. */
const key: usize = memory.data(4096 + 16, 16);

export function valueFrom(memo: Memo, at: u32): usize {
  const number = load<i32>(memo.numbers + ((<usize>at) << 2));
  if (number < 0) return 0;
  return memo.ofProperties != 0 ? propertyFrom(number) : memberFrom(number);
}

export function valueTo(memo: Memo, at: u32): usize {
  const number = load<i32>(memo.numbers + ((<usize>at) << 2));
  return memo.ofProperties != 0 ? propertyTo(number) : memberTo(number);
}

/** Returns the processed answer; 0 means that the record is unusual. */
export function answerOf(memo: Memo): usize {
  const length = fillKey(memo);
  if (length > KEY_BYTES_MAX) return 0;
  if (length > REMEMBERED_MAX) return answerTo(memo.number);
  const slot: usize = hashOf(key, length) & memo.slotMask;
  const place = memo.keys + slot * REMEMBERED_MAX;
  const isKnown = load<u8>(memo.lengths + slot) == length + 1 && sameBytes(place, key, length);
  if (isKnown) return load<u32>(memo.answers + (slot << 2));
  const answer = answerTo(memo.number);
  memory.copy(place, key, length);
  store<u8>(memo.lengths + slot, length + 1);
  store<u32>(memo.answers + (slot << 2), answer);
  return answer;
}

/** Returns the length of the key; more than KEY_BYTES_MAX means too long. */
function fillKey(memo: Memo): usize {
  let at: usize = 0;
  for (let each: u32 = 0; each < memo.numberCount; each++) {
    const from = valueFrom(memo, each);
    if (from != 0) {
      const bytes = valueTo(memo, each) - from;
      if (at + bytes >= KEY_BYTES_MAX) return KEY_BYTES_MAX + 1;
      copyTo(key + at, from, bytes);
      at += bytes;
    }
    if (at == KEY_BYTES_MAX) return KEY_BYTES_MAX + 1;
    // No value contains it.
    store<u8>(key + at, 0);
    at++;
  }
  return at;
}
