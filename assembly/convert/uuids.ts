// UUIDs of records: given ones, and version 5 UUIDs derived from their contents (src/imports/formats/derived-uuids.ts).
import { BACKSLASH, QUOTE, byteAt } from './bytes';
import { sha1Of } from './hashes';
import { memberFrom, memberTo, recordFrom, recordTo } from './record';
import { writeContent } from './content';
import { writeTime } from './times';
import { Memo, Piece, answerOf } from './answers';
import { countUuid } from './host';

const GIVEN: i32 = 0;
const NAMED: i32 = 1;
const CONTENT: i32 = 2;
const PARTS: i32 = 3;
/** From a name, or from the content if there is no name. */
const NAMED_OR_CONTENT: i32 = 4;

const ID_BYTES_MAX: usize = 1024;
/** Version 5 hashes the bytes of a namespace UUID before the name. */
const NAMESPACE_BYTES_MAX: usize = 64;

/** An input of the UUID. */
class Part {
  /** 0: the time of the event; 1: a text; 2: the id of a member; 3: a value that follows from some members. */
  kind: u32;
  /** A text; or a member, and whether a record without it is unusual; or a memo. */
  from: usize;
  bytes: u32;
}

const PART_BYTES: usize = 12;

/** One of the kinds above. */
export let uuidKind: i32 = 0;
export let uuidMember: i32 = 0;
/** For names and parts, and for contents. */
export let nameSpace: usize = 0;
export let nameSpaceBytes: usize = 0;
export let contentSpace: usize = 0;
export let contentSpaceBytes: usize = 0;
/** Whether repeated names are counted. */
export let countsNames: bool = false;
/** Array of Part; the first ones may together be a UUID. */
export let uuidParts: usize = 0;
export let uuidPartCount: u32 = 0;
export let uuidPartsGiven: u32 = 0;
/** Buffer for messages: room for a record and more. */
export let message: usize = 0;
export let messageBytes: usize = 0;

/** UUID of the record: 36 characters, and four words, the first digits in the first one. */
export const uuidText: usize = memory.data(48, 16);
export const uuidWords: usize = memory.data(16, 16);

let kind: i32 = 0;
let end: usize = 0;

/** Returns false if the record is unusual. `micros` is its time. */
export function prepareUuid(micros: i64): bool {
  kind = uuidKind;
  if (kind == NAMED_OR_CONTENT) kind = isEmpty(memberFrom(uuidMember), memberTo(uuidMember)) ? CONTENT : NAMED;
  if (kind == GIVEN) return prepareGiven();
  if (kind == NAMED) return prepareNamed();
  return kind == CONTENT ? prepareContent() : prepareParts(micros);
}

/** Whether the prepared record is numbered among equal ones. */
export function isUuidCounted(): bool {
  return kind == CONTENT || (kind == NAMED && countsNames);
}

/** Derives the UUID of the prepared record; called once for each accepted record, because some are counted. */
export function deriveUuid(): void {
  if (kind == GIVEN) return;
  makeUuid();
  if (!isUuidCounted()) return;
  const more = countUuid(kind == CONTENT, uuidText, end);
  if (more == 0) return;
  end += more;
  makeUuid();
}

/** Version 5, variant of RFC 9562. */
function makeUuid(): void {
  sha1Of(message, end - message, uuidWords);
  store<u32>(uuidWords + 4, (load<u32>(uuidWords + 4) & 0xffff0fff) | 0x5000);
  store<u32>(uuidWords + 8, (load<u32>(uuidWords + 8) & 0x3fffffff) | 0x80000000);
  writeUuid();
}

function prepareGiven(): bool {
  const from = memberFrom(uuidMember);
  return from != 0 && byteAt(from) == QUOTE && memberTo(uuidMember) - from == 38 && readUuid(from + 1);
}

function prepareNamed(): bool {
  const from = memberFrom(uuidMember);
  if (from == 0 || byteAt(from) != QUOTE || !isPlainId(from + 1, memberTo(uuidMember) - 1)) return false;
  end = message + nameSpaceBytes;
  memory.copy(message, nameSpace, nameSpaceBytes);
  return put(from + 1, memberTo(uuidMember) - 1);
}

function prepareContent(): bool {
  if (contentSpaceBytes + recordTo - recordFrom + NAMESPACE_BYTES_MAX > messageBytes) return false;
  memory.copy(message, contentSpace, contentSpaceBytes);
  end = writeContent(recordFrom, message + contentSpaceBytes);
  return end != 0;
}

function prepareParts(micros: i64): bool {
  memory.copy(message, nameSpace, nameSpaceBytes);
  end = message + nameSpaceBytes;
  for (let at: u32 = 0; at < uuidPartCount; at++) {
    if (!putPart(changetype<Part>(uuidParts + <usize>at * PART_BYTES), micros)) return false;
    if (at + 1 != uuidPartsGiven) continue;
    const given = message + nameSpaceBytes;
    if (end - given == 36 && readUuid(given)) {
      kind = GIVEN;
      return true;
    }
    if (mayBeUuid(given)) return false;
  }
  return true;
}

/** Whether the rest may be a UUID in another spelling (src/base/uuids.ts), which the reader recognises. */
function mayBeUuid(from: usize): bool {
  if (end - from < 32) return false;
  const first = byteAt(from);
  const last = byteAt(end - 1);
  if (first <= 0x20 || first >= 0x7f || last <= 0x20 || last >= 0x7f) return true;
  if (first == 0x7b || ((first | 0x20) == 0x75 && byteAt(from + 3) == 0x3a)) return true;
  if (end - from != 32) return false;
  for (let at = from; at < end; at++) if (nibble(byteAt(at)) < 0) return false;
  return true;
}

/** Appends a part; returns false if the record is unusual. */
function putPart(part: Part, micros: i64): bool {
  if (part.kind == 0) return putTime(micros);
  if (part.kind == 1) return put(part.from, part.from + part.bytes);
  if (part.kind == 2) return putMember(<i32>part.from, part.bytes != 0);
  const piece = changetype<Piece>(answerOf(changetype<Memo>(part.from)));
  return changetype<usize>(piece) != 0 && put(piece.from, piece.from + piece.bytes);
}

const timeText: usize = memory.data(48, 16);

function putTime(micros: i64): bool {
  return put(timeText, writeTime(timeText, micros));
}

function putMember(member: i32, isNeeded: bool): bool {
  const from = memberFrom(member);
  const to = memberTo(member);
  if (isEmpty(from, to)) return !isNeeded;
  if (byteAt(from) != QUOTE) return isWhole(from, to) && put(from, to);
  return isPlainId(from + 1, to - 1) && put(from + 1, to - 1);
}

function put(from: usize, to: usize): bool {
  if (end + (to - from) > message + nameSpaceBytes + ID_BYTES_MAX) return false;
  memory.copy(end, from, to - from);
  end += to - from;
  return true;
}

/** Whether it is absent, null, or an empty text. */
function isEmpty(from: usize, to: usize): bool {
  return from == 0 || byteAt(from) == 0x6e || (byteAt(from) == QUOTE && to - from == 2);
}

/** Accepts digits with an optional minus. */
function isWhole(from: usize, to: usize): bool {
  let at = byteAt(from) == 0x2d ? from + 1 : from;
  if (at == to) return false;
  for (; at < to; at++) if (byteAt(at) - 0x30 > 9) return false;
  return true;
}

/** Whether an id is not blank and written without escapes. */
function isPlainId(from: usize, to: usize): bool {
  const first = byteAt(from);
  if (to - from > ID_BYTES_MAX || to == from || first <= 0x20 || first >= 0x7f) return false;
  for (let at = from; at < to; at++) if (byteAt(at) == BACKSLASH) return false;
  return true;
}

const DIGITS: usize = memory.data<u8>([
  0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66,
]);

function hasDash(at: u32): bool {
  return at == 8 || at == 13 || at == 18 || at == 23;
}

function writeUuid(): void {
  let at: u32 = 0;
  for (let word: usize = 0; word < 16; word += 4) {
    const value = load<u32>(uuidWords + word);
    for (let shift: i32 = 28; shift >= 0; shift -= 4) {
      if (hasDash(at)) store<u8>(uuidText + at++, 0x2d);
      store<u8>(uuidText + at++, load<u8>(DIGITS + ((value >> shift) & 15)));
    }
  }
}

/** Returns the value of a hex digit; negative for any other byte. */
function nibble(byte: u32): i32 {
  if (byte - 0x30 < 10) return byte - 0x30;
  const letter = byte | 0x20;
  return letter - 0x61 < 6 ? letter - 0x61 + 10 : -1;
}

/** Converts to lower case; returns false if it is not a UUID. */
function readUuid(from: usize): bool {
  let digit: u32 = 0;
  let value: u32 = 0;
  for (let at: u32 = 0; at < 36; at++) {
    const byte = byteAt(from + at);
    if (hasDash(at)) {
      if (byte != 0x2d) return false;
      continue;
    }
    const each = nibble(byte);
    if (each < 0) return false;
    value = (value << 4) | each;
    digit++;
    if ((digit & 7) == 0) store<u32>(uuidWords + (((digit >> 3) - 1) << 2), value);
  }
  writeUuid();
  return true;
}
