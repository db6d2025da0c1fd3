// Converts usual records of a format from bytes to columns, by a table that src/imports/stages/check/fast writes into memory. The
// result for a record equals that of the reader; a record for which this is not certain is unusual and goes to the reader.
//
// Memory: everything below `heapBase()` belongs to this code; the program lays out the rest and sets the variables below and those of
// convert/ accordingly.
import { copyTo, endOfLine } from './convert/bytes';
import { crc32, md5Of } from './convert/hashes';
import { unmappedAt, unmappedCount, memberFrom, memberTo, readRecord } from './convert/record';
import { Memo, Piece, answerOf } from './convert/answers';
import { shapeHigh, shapeLow, shapeOf } from './convert/shapes';
import { DAY_MS, NO_TIME, microsOf, microsOfText, writeTime } from './convert/times';
import { deriveUuid, isUuidCounted, prepareUuid, uuidText, uuidWords } from './convert/uuids';
import { Fragment, Group, groupAt, isSpecial, prepareProperties, writeProperties } from './convert/properties';

export {
  objects,
  objectCount,
  pairLists,
  pairListCount,
  pairKinds,
  members,
  memberCount,
  properties,
  propertyCount,
  keysSeen,
  unmapped,
  texts,
  textsEnd,
} from './convert/record';
export { lists, listCount, namesSeen, namePlaces } from './convert/items';
export { textZone, numberZone, timeUnit, areDigits, isKept } from './convert/times';
export {
  steps,
  stepCount,
  groups,
  source,
  sourceBytes,
  normalisedTexts,
  normalisedCount,
  normalisedPieces,
  values,
  isNormalised,
  codeProperty,
  countryProperty,
  noGeoipProperty,
  groupsProperty,
  profileProperty,
  trimmedGroups,
  addsPerson,
} from './convert/properties';
export { urlProperty, hostProperty, pathProperty } from './convert/urls';
export {
  uuidKind,
  uuidMember,
  nameSpace,
  nameSpaceBytes,
  contentSpace,
  contentSpaceBytes,
  countsNames,
  uuidParts,
  uuidPartCount,
  uuidPartsGiven,
  message,
  messageBytes,
} from './convert/uuids';

/** The name of an event. */
class Name {
  text: usize;
  bytes: u32;
  /** The program's number for it. */
  number: i32;
  /** Bits set by the program: see below. */
  flags: u32;
}

/** Records of this name go to the reader until it has a sample of them; so do those that link two ids. */
const SAMPLED: u32 = 1;
const SAMPLED_LINKED: u32 = 2;
/** Events of this name are not stored. */
const SKIPPED: u32 = 4;

/** The person that an event belongs to. */
class Identity {
  /** The stored id. */
  id: usize;
  bytes: u32;
  /** Properties that follow from the ids. */
  fragment: usize;
  number: i32;
  /** µs of the earliest record that stated its link; -1 if none did. */
  linkedMicros: f64;
}

/** A row as the program reads it. Offsets are relative to the start of their column. */
class Row {
  name: i32;
  identity: i32;
  /** Counted from 0 in the call. */
  line: u32;
  /** Bit 1: the record links two ids; bit 2: the properties contain more about groups or persons than `$set` and `$set_once`. */
  flags: u32;
  sumLow: u32;
  sumHigh: u32;
  contentLow: u32;
  contentHigh: u32;
  event: u32;
  id: u32;
  properties: u32;
  propertiesBytes: u32;
  /** `$set` and `$set_once`; an end of 0 means absent. */
  setFrom: u32;
  setTo: u32;
  onceFrom: u32;
  onceTo: u32;
  /** Shapes of these objects (convert/shapes.ts). */
  setShapeLow: u32;
  setShapeHigh: u32;
  onceShapeLow: u32;
  onceShapeHigh: u32;
  micros: f64;
}

const ROW_BYTES: usize = 88;
const STATES_LINK: u32 = 1;
const SPECIAL: u32 = 2;

/** Maximum rows and lines of a call. */
const ROWS_MAX: u32 = 1024;
const LINES_MAX: u32 = 4096;
/** A block with this many bytes of properties is full; the column has room for one more event. */
const PROPERTIES_FULL: usize = 1 << 20;

/** Addresses of the columns, in the layout of Native. The program fills constant columns. */
export let rows: usize = 0;
export let uuids: usize = 0;
export let times: usize = 0;
export let days: usize = 0;
export let events: usize = 0;
export let ids: usize = 0;
export let propertiesColumn: usize = 0;
/** Numbers of the names of skipped records. */
export let skipped: usize = 0;
/** Occurrences of unmapped property names, by their number. */
export let unmappedCounts: usize = 0;

/** Result of a call, as 32-bit words. */
class Block {
  rows: u32;
  /** Lines that were converted or skipped. */
  lines: u32;
  skipped: u32;
  unmapped: u32;
  eventsBytes: u32;
  idsBytes: u32;
  propertiesBytes: u32;
  /** Why it ended: see below. */
  stop: u32;
  /** Name in the record at which it stopped, if a sample may be needed. */
  name: i32;
  isLinked: u32;
}

/** Reasons to stop: end of the lines or a full block; an unusual record; a record that may be needed as a sample. */
const END: u32 = 0;
const UNUSUAL: u32 = 1;
const UNSAMPLED: u32 = 2;

/** Memos of names and of identities. */
export let names: usize = 0;
export let identities: usize = 0;
/** Member with the time of the record, or a memo of it; 0 without one. */
export let timeMember: i32 = 0;
export let timeMemo: usize = 0;
/** Text after the properties: the marker of the run and the last bracket. */
export let ending: usize = 0;
export let endingBytes: u32 = 0;
/** Limit of an event. */
export let eventBytesMax: u32 = 0;
/** µs since the epoch; a later time is too far ahead. */
export let microsMax: f64 = 0;

/** Size of an event as JSON besides its properties, name and id. */
const HEAD_BYTES: u32 = 256;
/** Maximum bytes in JSON of one byte of a name or id. */
const ESCAPED_MAX: u32 = 6;
const blockPlace: usize = memory.data(48, 8);
/** Input of the checksum of identities: UUID, id, time. */
const identityText: usize = memory.data(2048, 16);
const ID_BYTES_MAX: u32 = 1800;

let micros: i64 = 0;
let name: usize = 0;
let identity: usize = 0;

export function heapBase(): usize {
  return __heap_base;
}

export function block(): usize {
  return blockPlace;
}

/** Converts lines, which must end with a line break, until one is unusual or the block is full; returns where the next one begins. */
export function convert(from: usize, to: usize): usize {
  const result = changetype<Block>(blockPlace);
  memory.fill(blockPlace, 0, offsetof<Block>());
  let at = from;
  while (at < to && result.rows < ROWS_MAX && result.lines < LINES_MAX && result.propertiesBytes < PROPERTIES_FULL) {
    const end = endOfLine(at);
    result.stop = convertRecord(result, at, end);
    if (result.stop != END) return at;
    result.lines += 1;
    at = end + 1;
  }
  return at;
}

/** Converts one record; returns END, or the reason why it was not converted. */
function convertRecord(result: Block, from: usize, to: usize): u32 {
  if (!read(from, to)) return UNUSUAL;
  const known = changetype<Name>(name);
  const belongsTo = changetype<Identity>(identity);
  const isLinked = <f64>micros < belongsTo.linkedMicros;
  if ((known.flags & SKIPPED) != 0) {
    // The reader decides whether such a record links two ids, and whether it counts.
    if (isLinked || isUuidCounted()) return UNUSUAL;
    store<i32>(skipped + ((<usize>result.skipped) << 2), known.number);
    result.skipped += 1;
    return END;
  }
  const needed = isLinked ? SAMPLED | SAMPLED_LINKED : SAMPLED;
  if ((known.flags & needed) != needed) {
    result.name = known.number;
    result.isLinked = isLinked ? 1 : 0;
    return UNSAMPLED;
  }
  if (isLinked) belongsTo.linkedMicros = <f64>micros;
  addRow(result, isLinked);
  return END;
}

/** Reads the record; returns false if it is unusual. */
function read(from: usize, to: usize): bool {
  if (!readRecord(from, to)) return false;
  name = answerOf(changetype<Memo>(names));
  if (name == 0) return false;
  micros = timeOfRecord();
  if (micros == NO_TIME || <f64>micros > microsMax) return false;
  identity = answerOf(changetype<Memo>(identities));
  if (identity == 0 || !prepareUuid(micros)) return false;
  const belongsTo = changetype<Identity>(identity);
  const needed = prepareProperties(changetype<Fragment>(belongsTo.fragment));
  const bytes = needed + HEAD_BYTES + (changetype<Name>(name).bytes + belongsTo.bytes) * ESCAPED_MAX + endingBytes;
  return needed != 0 && bytes <= eventBytesMax && belongsTo.bytes <= ID_BYTES_MAX;
}

function timeOfRecord(): i64 {
  if (timeMemo == 0) {
    const from = memberFrom(timeMember);
    return from == 0 ? NO_TIME : microsOf(from, memberTo(timeMember));
  }
  const text = changetype<Piece>(answerOf(changetype<Memo>(timeMemo)));
  // As readers write it, in UTC.
  return changetype<usize>(text) == 0 ? NO_TIME : microsOfText(text.from, text.from + text.bytes, 0);
}

function addRow(result: Block, isLinked: bool): void {
  const known = changetype<Name>(name);
  const belongsTo = changetype<Identity>(identity);
  const index: usize = result.rows;
  const row = changetype<Row>(rows + index * ROW_BYTES);
  row.name = known.number;
  row.identity = belongsTo.number;
  row.line = result.lines;
  row.flags = (isLinked ? STATES_LINK : 0) | (isSpecial() ? SPECIAL : 0);
  row.micros = <f64>micros;
  deriveUuid();
  putUuid(uuids + (index << 4));
  store<i64>(times + (index << 3), micros);
  store<i32>(days + (index << 2), <i32>(micros / (DAY_MS * 1000)));
  row.event = result.eventsBytes;
  result.eventsBytes = <u32>(putText(events + result.eventsBytes, known.text, known.bytes) - events);
  row.id = result.idsBytes;
  result.idsBytes = <u32>(putText(ids + result.idsBytes, belongsTo.id, belongsTo.bytes) - ids);
  putProperties(result, row, belongsTo);
  for (let at: i32 = 0; at < unmappedCount; at++) {
    const count = unmappedCounts + ((<usize>unmappedAt(at)) << 2);
    store<u32>(count, load<u32>(count) + 1);
  }
  result.unmapped += unmappedCount;
  result.rows += 1;
}

/** The engine stores a UUID as two little-endian halves. */
function putUuid(at: usize): void {
  store<u32>(at, load<u32>(uuidWords + 4));
  store<u32>(at + 4, load<u32>(uuidWords));
  store<u32>(at + 8, load<u32>(uuidWords + 12));
  store<u32>(at + 12, load<u32>(uuidWords + 8));
}

function putText(at: usize, from: usize, bytes: u32): usize {
  return copyTo(putLength(at, bytes), from, bytes);
}

/** LEB128. */
function putLength(start: usize, length: u32): usize {
  let at = start;
  let rest = length;
  for (; rest > 0x7f; rest >>= 7) store<u8>(at++, rest | 0x80);
  store<u8>(at, rest);
  return at + 1;
}

function lengthBytes(length: u32): usize {
  return length < 1 << 7 ? 1 : length < 1 << 14 ? 2 : length < 1 << 21 ? 3 : 4;
}

/** Bytes of most lengths. */
const LENGTH_BYTES: usize = 2;

function putProperties(result: Block, row: Row, belongsTo: Identity): void {
  const column = propertiesColumn + result.propertiesBytes;
  const start = column + LENGTH_BYTES;
  store<u8>(start, 0x7b);
  const end = writeProperties(start + 1);
  addChecksums(row, belongsTo, start, end);
  const bytes = <u32>(copyTo(end, ending, endingBytes) - start);
  const own = lengthBytes(bytes);
  if (own != LENGTH_BYTES) memory.copy(column + own, start, bytes);
  putLength(column, bytes);
  row.properties = <u32>(column + own - propertiesColumn);
  row.propertiesBytes = bytes;
  result.propertiesBytes += <u32>own + bytes;
  // The present position of the objects.
  const moved = column + own - start - propertiesColumn;
  const set = groupAt(0);
  row.setFrom = <u32>(set.from + moved);
  row.setTo = set.to == 0 ? 0 : <u32>(set.to + moved);
  if (set.to != 0) shapeOf(set.from + moved + propertiesColumn);
  row.setShapeLow = shapeLow;
  row.setShapeHigh = shapeHigh;
  const once = groupAt(1);
  row.onceFrom = <u32>(once.from + moved);
  row.onceTo = once.to == 0 ? 0 : <u32>(once.to + moved);
  if (once.to != 0) shapeOf(once.from + moved + propertiesColumn);
  row.onceShapeLow = shapeLow;
  row.onceShapeHigh = shapeHigh;
}

/** Writes a time in µs since the epoch in the form of event texts; returns its end. */
export function writeTimeOf(at: usize, time: f64): usize {
  return writeTime(at, <i64>time);
}

/** As specified in src/imports/checksum.ts. */
function addChecksums(row: Row, belongsTo: Identity, from: usize, to: usize): void {
  let at = copyTo(identityText, uuidText, 36);
  store<u8>(at++, 0);
  at = copyTo(at, belongsTo.id, belongsTo.bytes);
  store<u8>(at++, 0);
  at = writeDigits(at, micros);
  md5Of(identityText, at - identityText, changetype<usize>(row) + offsetof<Row>('sumLow'));
  const crc = crc32(from, to);
  row.contentLow = (crc ^ row.sumLow) * (row.sumHigh | 1);
  row.contentHigh = (crc ^ row.sumHigh) * (row.sumLow | 1);
}

/** Writes a non-negative whole number. */
function writeDigits(start: usize, number: i64): usize {
  let length: usize = 1;
  for (let rest = number / 10; rest > 0; rest /= 10) length++;
  let rest = number;
  for (let at = start + length; at > start; at--) {
    store<u8>(at - 1, 0x30 + <u32>(rest % 10));
    rest /= 10;
  }
  return start + length;
}
