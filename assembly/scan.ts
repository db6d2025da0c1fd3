/**
 * The inner loop of src/wire/batch/scan.ts: finds the fields of the events in an array by the same rules (src/wire/batch/scan-event.ts),
 * and leaves every unusual array to it. Its memory layout is in src/wire/batch/fast-scan.ts.
 */
import {
  BACKSLASH,
  CLOSE_ARRAY,
  COLON_QUOTE,
  COMMA_QUOTE,
  firstElement,
  firstKey,
  forgetKeys,
  isEscapedKey,
  isTooDeep,
  keyEnd,
  keysPassed,
  LETTER_N,
  LETTER_U,
  limitDepth,
  nextElement,
  nextKey,
  OPEN_OBJECT,
  QUOTE,
  textEnd,
  valueEnd,
  valueStart,
} from './json';

/** A table of keys: the number of an entry or 0 by length and first byte, then the entries from 1 on. */
const KEY_BYTES_MAX: usize = 31;
const PLACES_BYTES: usize = (KEY_BYTES_MAX + 1) << 8;
/** The bytes of the key; the last byte is its meaning. */
const ENTRY_BYTES: usize = 32;
const ENTRIES_MAX: usize = 32;
const TABLE_BYTES: i32 = <i32>(PLACES_BYTES + ENTRIES_MAX * ENTRY_BYTES);

/** Keys of an event; they mean the first cell of their span. */
export const eventKeys: usize = memory.data(TABLE_BYTES);
/** Keys of its properties; they mean a number of `propertyKey` in src/wire/batch/event-keys.ts. */
export const propertyKeys: usize = memory.data(TABLE_BYTES);
export const tablesEnd: usize = __heap_base;

const PROPERTY_DISTINCT_ID: u32 = 1;
const PROPERTY_TOKEN: u32 = 2;
const PROPERTY_IP: u32 = 3;
const PROPERTY_SPECIAL: u32 = 4;
const PROPERTY_SET: u32 = 5;
const PROPERTY_SET_ONCE: u32 = 6;
const PROPERTY_UNSET: u32 = 7;

/** Cells of a row, `span` of src/wire/batch/scanned-batch.ts. */
const CELL_BYTES: usize = 4;
const EVENT: usize = 0;
const NAME: usize = 2;
const DISTINCT_ID: usize = 4;
const PROPERTIES: usize = 10;
const TOKEN: usize = 18;
const OWN_SET: usize = 20;
const OWN_SET_ONCE: usize = 22;
const OWN_UNSET: usize = 24;
const FLAGS: usize = 26;
const ROW_CELLS: usize = 28;

/** `eventFlag` there. */
const FLAG_SPECIAL: i32 = 1;
const FLAG_HAS_IP: i32 = 2;
const FLAG_DOLLAR_NAME: i32 = 4;
const FLAG_EMPTY_PROPERTIES: i32 = 8;
const FLAG_ID_IN_PROPERTIES: i32 = 16;

const DOLLAR: u32 = 0x24;
/** `0024` as a load of four bytes returns it. */
const DIGITS_OF_DOLLAR: u32 = 0x34323030;

/** Events found by the last call of `scanElements`. */
export let count: i32 = 0;

/** Start of the text. */
let base: usize = 0;
/** Row of the current event. */
let row: usize = 0;
let flags: i32 = 0;
/** Found in the properties of the event; 0 if absent. Their effect is decided at its end. */
let idFrom: usize = 0;
let idTo: usize = 0;
let tokenFrom: usize = 0;
let tokenTo: usize = 0;

/**
 * Scans from the `[` at `json + from` to after its `]`, with a row for each event from `rows` on; the rows and the result are relative
 * to `json`. Returns 0 if something is unusual; the rows are then meaningless. Between the text and the rows there must be at least 32
 * bytes, of which the first is overwritten.
 */
export function scanElements(
  json: usize,
  jsonEnd: usize,
  from: usize,
  rows: usize,
  rowsMax: i32,
  depthMax: i32,
  keysMax: i32,
  eventBytesMax: usize,
): usize {
  store<u8>(jsonEnd, 0);
  base = json;
  count = 0;
  limitDepth(depthMax);
  let at = firstElement(json + from);
  while (load<u8>(at) != CLOSE_ARRAY) {
    if (count == rowsMax) return 0;
    row = rows + <usize>count * (ROW_CELLS * CELL_BYTES);
    const end = eventEnd(at);
    if (end == 0 || end - at > eventBytesMax || keysPassed() > keysMax) return 0;
    count++;
    at = nextElement(end);
    if (at == 0) return 0;
  }
  return at + 1 - json;
}

function eventEnd(start: usize): usize {
  if (load<u8>(start) != OPEN_OBJECT || isTooDeep(1)) return 0;
  clearRow();
  forgetFindings(FLAG_EMPTY_PROPERTIES);
  forgetKeys();
  let at = firstKey(start);
  while (at != 0 && load<u8>(at) == QUOTE) {
    const end = keyEnd(at);
    if (end == 0 || isEscapedKey()) return 0;
    const cell = meaningOf(eventKeys, at, end);
    const from = load<u16>(end) == COLON_QUOTE ? end + 1 : valueStart(end);
    if (from == 0) return 0;
    const to = cell == PROPERTIES ? propertiesEnd(from) : memberEnd(from, 1);
    if (to == 0) return 0;
    if (cell != 0) put(cell, from, to);
    at = load<u16>(to) == COMMA_QUOTE ? to + 1 : nextKey(to);
  }
  if (at == 0) return 0;
  put(EVENT, start, at + 1);
  settle();
  return at + 1;
}

function propertiesEnd(start: usize): usize {
  const first: u32 = load<u8>(start);
  forgetFindings(first == LETTER_N ? FLAG_EMPTY_PROPERTIES : 0);
  if (first != OPEN_OBJECT) return valueEnd(start, 1);
  if (isTooDeep(2)) return 0;
  let at = firstKey(start);
  if (at != 0 && load<u8>(at) != QUOTE) flags = FLAG_EMPTY_PROPERTIES;
  while (at != 0 && load<u8>(at) == QUOTE) {
    const end = keyEnd(at);
    if (end == 0 || isEscapedKey()) return 0;
    const key = meaningOf(propertyKeys, at, end);
    const from = load<u16>(end) == COLON_QUOTE ? end + 1 : valueStart(end);
    if (from == 0) return 0;
    const to = memberEnd(from, 2);
    if (to == 0) return 0;
    if (key != 0) keepFinding(key, from, to);
    at = load<u16>(to) == COMMA_QUOTE ? to + 1 : nextKey(to);
  }
  return at == 0 ? 0 : at + 1;
}

/** Most values are texts. */
function memberEnd(at: usize, depth: i32): usize {
  return load<u8>(at) == QUOTE ? textEnd(at) : valueEnd(at, depth);
}

/** Returns the meaning of a key in one of the tables; 0 if it has none. */
function meaningOf(table: usize, from: usize, to: usize): usize {
  const length = to - from - 2;
  if (length > KEY_BYTES_MAX) return 0;
  const place: usize = load<u8>(table + ((length << 8) | <usize>load<u8>(from + 1)));
  if (place == 0) return 0;
  const entry = table + PLACES_BYTES + place * ENTRY_BYTES;
  if (differing(entry, from + 1) << (32 - <u32>length) != 0) return 0;
  return load<u8>(entry + KEY_BYTES_MAX);
}

/** Returns a bit for each of 32 bytes. */
function differing(one: usize, other: usize): u32 {
  const low = i8x16.bitmask(i8x16.ne(v128.load(one), v128.load(other)));
  const high = i8x16.bitmask(i8x16.ne(v128.load(one, 16), v128.load(other, 16)));
  return low | (high << 16);
}

function keepFinding(key: usize, from: usize, to: usize): void {
  switch (<u32>key) {
    case PROPERTY_DISTINCT_ID:
      idFrom = from;
      idTo = to;
      break;
    case PROPERTY_TOKEN:
      tokenFrom = from;
      tokenTo = to;
      break;
    case PROPERTY_IP:
      flags |= FLAG_HAS_IP;
      break;
    case PROPERTY_SPECIAL:
      flags |= FLAG_SPECIAL;
      break;
    case PROPERTY_SET:
      put(OWN_SET, from, to);
      break;
    case PROPERTY_SET_ONCE:
      put(OWN_SET_ONCE, from, to);
      break;
    case PROPERTY_UNSET:
      put(OWN_UNSET, from, to);
      break;
  }
}

/** Of repeated properties the last one counts, and nothing remains of earlier ones. */
function forgetFindings(flagsLeft: i32): void {
  idFrom = 0;
  tokenFrom = 0;
  flags = flagsLeft;
  const none = i32x4.splat(-1);
  v128.store(row + OWN_SET * CELL_BYTES, none);
  store<i64>(row + OWN_UNSET * CELL_BYTES, -1);
}

function clearRow(): void {
  const none = i32x4.splat(-1);
  for (let cell: usize = 0; cell < FLAGS - 2; cell += 4) v128.store(row + cell * CELL_BYTES, none);
  store<i64>(row + OWN_UNSET * CELL_BYTES, -1);
  // The flags and the problem.
  store<i64>(row + FLAGS * CELL_BYTES, 0);
}

function put(cell: usize, from: usize, to: usize): void {
  const place = row + cell * CELL_BYTES;
  store<i32>(place, from - base);
  store<i32>(place + CELL_BYTES, to - base);
}

function isAbsent(cell: usize): bool {
  const from = load<i32>(row + cell * CELL_BYTES);
  return from < 0 || load<u8>(base + from) == LETTER_N;
}

/** At the end of an event: uses values of the properties where the event has none, and sets the flags. */
function settle(): void {
  if (idFrom != 0 && isAbsent(DISTINCT_ID)) {
    put(DISTINCT_ID, idFrom, idTo);
    flags |= FLAG_ID_IN_PROPERTIES;
  }
  if (tokenFrom != 0 && isAbsent(TOKEN)) put(TOKEN, tokenFrom, tokenTo);
  const name = load<i32>(row + NAME * CELL_BYTES);
  if (name >= 0 && startsWithDollar(base + name)) flags |= FLAG_DOLLAR_NAME;
  store<i32>(row + FLAGS * CELL_BYTES, flags);
}

function startsWithDollar(at: usize): bool {
  if (load<u8>(at) != QUOTE) return false;
  const first: u32 = load<u8>(at + 1);
  if (first != BACKSLASH) return first == DOLLAR;
  return load<u8>(at + 2) == LETTER_U && load<u32>(at + 3) == DIGITS_OF_DOLLAR;
}
