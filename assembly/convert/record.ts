// Finds the parts of a record in one pass.
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
  clearKeys,
  countKey,
  endOfValue,
  isDigit,
  keysCounted,
  nullEnd,
  numberEnd,
  plainTextEnd,
  sameBytes,
  skipSpace,
  valueEnd,
} from './bytes';
import { unescapeText, unescapedEnd } from './unescape';
import { Entry, KeyTable, findKey } from './entries';
import { LOST, UNUSUAL, WRITTEN, addItem, clearItems, listAt, listCount } from './items';

/** Limit of all objects of a record; ingest allows twice as many. */
const KEYS_MAX: i32 = 5000;
export const KEY_TABLE_BYTES: usize = 32;

/** Arrays of KeyTable: objects whose members are read, the record first; and lists of pairs. */
export let objects: usize = 0;
export let objectCount: i32 = 0;
export let pairLists: usize = 0;
export let pairListCount: i32 = 0;
/** Start and end of the value of each member and property that is read; 0 if absent. */
export let members: usize = 0;
export let memberCount: i32 = 0;
export let properties: usize = 0;
export let propertyCount: i32 = 0;
/** By number of a key: number of the last record that contained it. */
export let keysSeen: usize = 0;
/** Numbers of unmapped property names, which the program counts. */
export let unmapped: usize = 0;
export let unmappedCount: i32 = 0;
/** Buffer for decoded JSON texts, and its end. */
export let texts: usize = 0;
export let textsEnd: usize = 0;
/** For the record: its position, the maximum bytes of its properties (possible person properties count twice), and whether it contains any. */
export let recordFrom: usize = 0;
export let recordTo: usize = 0;
export let bytesNeeded: u32 = 0;
export let isOfPerson: bool = false;

let record: u32 = 0;
/** End of the used part of the buffer. */
let textsAt: usize = 0;

export function memberFrom(member: i32): usize {
  return load<u32>(members + ((<usize>member) << 3));
}

export function memberTo(member: i32): usize {
  return load<u32>(members + ((<usize>member) << 3) + 4);
}

export function propertyFrom(property: i32): usize {
  return load<u32>(properties + ((<usize>property) << 3));
}

export function propertyTo(property: i32): usize {
  return load<u32>(properties + ((<usize>property) << 3) + 4);
}

export function countUnmapped(name: i32): void {
  store<i32>(unmapped + ((<usize>unmappedCount) << 2), name);
  unmappedCount++;
}

export function unmappedAt(index: i32): i32 {
  return load<i32>(unmapped + ((<usize>index) << 2));
}

function objectAt(object: i32): KeyTable {
  return changetype<KeyTable>(objects + <usize>object * KEY_TABLE_BYTES);
}

function pairListAt(pairs: i32): KeyTable {
  return changetype<KeyTable>(pairLists + <usize>pairs * KEY_TABLE_BYTES);
}

/** `to` must be followed by a line break. Returns false if the record is unusual. */
export function readRecord(from: usize, to: usize): bool {
  clear();
  recordFrom = from;
  recordTo = to;
  const end = walk(from, 0);
  if (end == 0 || end > to || (end < to && skipSpace(end) < to) || keysCounted() > KEYS_MAX) return false;
  for (let object: i32 = 0; object < objectCount; object++) {
    const table = objectAt(object);
    if (table.isNeeded > table.isFound) return false;
  }
  for (let pairs: i32 = 0; pairs < pairListCount; pairs++) {
    const table = pairListAt(pairs);
    if (table.isNeeded > table.isFound) return false;
  }
  return addFields();
}

function clear(): void {
  record += 1;
  clearItems();
  clearKeys();
  memory.fill(members, 0, (<usize>memberCount) << 3);
  memory.fill(properties, 0, (<usize>propertyCount) << 3);
  for (let object: i32 = 0; object < objectCount; object++) objectAt(object).isFound = 0;
  for (let pairs: i32 = 0; pairs < pairListCount; pairs++) pairListAt(pairs).isFound = 0;
  for (let list: i32 = 0; list < listCount; list++) {
    const own = listAt(list);
    if (own.fieldCount > 0) memory.fill(own.fieldSpans, 0, (<usize>own.fieldCount) << 3);
  }
  textsAt = texts;
  bytesNeeded = 0;
  isOfPerson = false;
  unmappedCount = 0;
}

/** Reads an object; returns its end. */
function walk(from: usize, object: i32): usize {
  if (byteAt(from) != OPEN_OBJECT) return 0;
  const table = objectAt(object);
  table.isFound = 1;
  let at = from + 1;
  if (byteAt(at) != QUOTE) at = skipSpace(at);
  if (byteAt(at) == CLOSE_OBJECT) return at + 1;
  let before = changetype<Entry>(table.start);
  while (true) {
    if (byteAt(at) != QUOTE) return 0;
    const entry = findKey(table, at, before);
    if (entry == null || entry.isUnusual != 0) return 0;
    before = entry;
    let value = at + entry.keyBytes;
    if (byteAt(value) != COLON) value = skipSpace(value);
    if (byteAt(value) != COLON) return 0;
    value++;
    if (byteAt(value) <= 0x20) value = skipSpace(value);
    at = member(at, value, entry);
    if (at == 0) return 0;
    if (byteAt(at) != COMMA) at = skipSpace(at);
    if (byteAt(at) == CLOSE_OBJECT) return at + 1;
    if (byteAt(at) != COMMA) return 0;
    at++;
    if (byteAt(at) != QUOTE) at = skipSpace(at);
  }
}

function member(key: usize, from: usize, entry: Entry): usize {
  countKey();
  if (!claimKey(entry)) return 0;
  const end = entry.object >= 0 ? objectEnd(from, entry) : plainEnd(from, entry);
  if (end == 0 || (readsMembers(entry) && endOfValue(from) != end)) return 0;
  if (entry.member >= 0) putSpan(members, entry.member, from, end);
  if (entry.fieldCount > 0) keepFields(entry, from, end);
  if (entry.list < 0 || (entry.nothingCount > 0 && isNothing(from, end, entry))) return end;
  return addTo(entry.list, entry, key, from, end) ? end : 0;
}

function putSpan(spans: usize, index: i32, from: usize, to: usize): void {
  store<u32>(spans + ((<usize>index) << 3), from);
  store<u32>(spans + ((<usize>index) << 3) + 4, to);
}

/** Whether members of an object are read although it is also written as a whole. */
function readsMembers(entry: Entry): bool {
  return entry.object >= 0 && ((entry.list >= 0 && entry.group == 0) || entry.member >= 0 || entry.fieldCount > 0);
}

function plainEnd(from: usize, entry: Entry): usize {
  if (entry.pairs >= 0) return byteAt(from) == OPEN_LIST ? pairsEnd(from, entry.pairs) : nullEnd(from);
  return entry.rejectsObjects != 0 && byteAt(from) == OPEN_OBJECT ? 0 : endOfValue(from);
}

/** Reads an object, or a JSON text that contains one. */
function objectEnd(from: usize, entry: Entry): usize {
  const table = objectAt(entry.object);
  if (byteAt(from) != QUOTE) {
    // A null that is not required equals a missing member.
    const end = table.isNeeded == 0 ? nullEnd(from) : 0;
    return end == 0 ? walk(from, entry.object) : end;
  }
  if (table.mayBeText == 0) return 0;
  if (table.mayBeEmpty != 0 && byteAt(from + 1) == QUOTE) return from + 2;
  const start = textsAt;
  const end = unescapeText(from, start, textsEnd);
  if (end == 0) return 0;
  const written = unescapedEnd();
  store<u8>(written, 0x0a);
  textsAt = written + 1;
  return walk(start, entry.object) == written ? end : 0;
}

/** `{"key":` */
const pairStart: usize = memory.data<u8>([0x7b, 0x22, 0x6b, 0x65, 0x79, 0x22, 0x3a]);
const PAIR_START: usize = 7;
/** `,"value":` */
const pairMiddle: usize = memory.data<u8>([0x2c, 0x22, 0x76, 0x61, 0x6c, 0x75, 0x65, 0x22, 0x3a]);
const PAIR_MIDDLE: usize = 9;

/** Value of the last pair; 0 without one. */
let pairFrom: usize = 0;
let pairTo: usize = 0;

/** Accepts only the form `[{"key":"plan","value":{"string_value":"pro"}}]`. */
function pairsEnd(from: usize, pairs: i32): usize {
  const table = pairListAt(pairs);
  table.isFound = 1;
  if (byteAt(from + 1) == CLOSE_LIST) return from + 2;
  let before = changetype<Entry>(table.start);
  let at = from;
  do {
    const key = at + 1 + PAIR_START;
    if (!sameBytes(pairStart, at + 1, PAIR_START) || byteAt(key) != QUOTE) return 0;
    const entry = findKey(table, key, before);
    if (entry == null || entry.isUnusual != 0 || !claimKey(entry)) return 0;
    before = entry;
    const value = key + entry.keyBytes + PAIR_MIDDLE;
    if (!sameBytes(pairMiddle, value - PAIR_MIDDLE, PAIR_MIDDLE)) return 0;
    at = pairValueEnd(value);
    if (at == 0 || byteAt(at) != CLOSE_OBJECT) return 0;
    const hasValue = pairFrom != 0 && entry.list >= 0 && !isNothing(pairFrom, pairTo, entry);
    if (hasValue && !addTo(entry.list, entry, 0, pairFrom, pairTo)) return 0;
    countKey();
    at++;
  } while (byteAt(at) == COMMA);
  return byteAt(at) == CLOSE_LIST ? at + 1 : 0;
}

const TEXT_KIND: i32 = 0;
const TIME_KIND: i32 = 4;

/**
 * Reads `{"string_value":"pro","int_value":null}` from its brace, or null; numbers may be texts. The first value other than null
 * counts.
 */
function pairValueEnd(from: usize): usize {
  pairFrom = 0;
  if (byteAt(from) == 0x6e) return valueEnd(from);
  if (byteAt(from) != OPEN_OBJECT) return 0;
  if (byteAt(from + 1) == CLOSE_OBJECT) return from + 2;
  let known: i32 = 0;
  let best: i32 = TIME_KIND;
  let at = from;
  do {
    const kind = kindOfValue(at + 1);
    if (kind < 0 || (known & (1 << kind)) != 0) return 0;
    known |= 1 << kind;
    countKey();
    const value = plainTextEnd(at + 1) + 1;
    at = valueEnd(value);
    if (at == 0) return 0;
    if (kind >= best || byteAt(value) == 0x6e) continue;
    best = kind;
    const isNumber = kind != TEXT_KIND && byteAt(value) == QUOTE;
    if (isNumber && !isNumberAlone(value + 1, at - 1)) return 0;
    pairFrom = isNumber ? value + 1 : value;
    pairTo = isNumber ? at - 1 : at;
  } while (byteAt(at) == COMMA);
  return byteAt(at) == CLOSE_OBJECT ? at + 1 : 0;
}

/** `"string_value":`, `"int_value":`, `"double_value":`, `"float_value":`, `"set_timestamp_micros":`, each with its length. */
export let pairKinds: usize = 0;
const PAIR_KINDS: i32 = 5;

function kindOfValue(at: usize): i32 {
  for (let kind: i32 = 0; kind < PAIR_KINDS; kind++) {
    const place = pairKinds + ((<usize>kind) << 3);
    if (sameBytes(load<u32>(place), at, load<u32>(place + 4))) return kind;
  }
  return -1;
}

function isNumberAlone(from: usize, to: usize): bool {
  const first = byteAt(from);
  return (first == 0x2d || isDigit(first)) && numberEnd(from) == to;
}

function claimKey(entry: Entry): bool {
  const ownKey = keysSeen + ((<usize>entry.ownKey) << 2);
  if (load<u32>(ownKey) == record) return false;
  store<u32>(ownKey, record);
  if (entry.ownName == entry.ownKey) return true;
  if (entry.ownName < 0) return false;
  const ownName = keysSeen + ((<usize>entry.ownName) << 2);
  if (load<u32>(ownName) == record) return false;
  store<u32>(ownName, record);
  return true;
}

function keepFields(entry: Entry, from: usize, to: usize): void {
  for (let at: u32 = 0; at < entry.fieldCount; at++) {
    const place = entry.fields + ((<usize>at) << 3);
    putSpan(listAt(load<i32>(place)).fieldSpans, load<i32>(place + 4), from, to);
  }
}

/** Adds members that become separate items. */
function addFields(): bool {
  for (let list: i32 = 0; list < listCount; list++) {
    const own = listAt(list);
    if (own.onlyMember >= 0 && !isMember(own.onlyMember, own.onlyFrom, own.onlyBytes)) continue;
    for (let index: u32 = 0; index < own.fieldCount; index++) {
      const entry = changetype<Entry>(<usize>load<u32>(own.fields + ((<usize>index) << 2)));
      const from: usize = load<u32>(own.fieldSpans + ((<usize>index) << 3));
      const to: usize = load<u32>(own.fieldSpans + ((<usize>index) << 3) + 4);
      if (from == 0 || isNothing(from, to, entry)) {
        if (own.areNeeded != 0) return false;
        continue;
      }
      if (entry.isUnusual != 0 || (own.areTexts != 0 && !isFullText(from)) || !addTo(list, entry, 0, from, to))
        return false;
    }
  }
  return true;
}

function isMember(member: i32, from: usize, length: u32): bool {
  const at = memberFrom(member);
  return at != 0 && memberTo(member) - at == length && sameBytes(from, at, length);
}

/** Whether a text begins with an ASCII letter, digit or sign, so that it is not blank. */
function isFullText(from: usize): bool {
  const first = byteAt(from + 1);
  return byteAt(from) == QUOTE && first > 0x20 && first < 0x7f && first != QUOTE && first != BACKSLASH;
}

function isNothing(from: usize, to: usize, entry: Entry): bool {
  for (let at: u32 = 0; at < entry.nothingCount; at++) {
    const place = entry.nothing + ((<usize>at) << 3);
    if (load<u32>(place + 4) == <u32>(to - from) && sameBytes(load<u32>(place), from, to - from)) return true;
  }
  return false;
}

function addTo(list: i32, entry: Entry, key: usize, from: usize, to: usize): bool {
  const added = addItem(list, entry, key, from, to);
  if (added == UNUSUAL) return false;
  if (entry.isOfPerson != 0) isOfPerson = true;
  const bytes = entry.outputBytes + <u32>(to - from) + 1;
  bytesNeeded += bytes;
  if (added == LOST) return true;
  if (entry.property >= 0) {
    putSpan(properties, entry.property, from, to);
    bytesNeeded += bytes;
  }
  if (entry.unmapped >= 0) countUnmapped(entry.unmapped);
  return added == WRITTEN;
}
