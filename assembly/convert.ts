// Converts plain records of a format from bytes to bytes, by a table that src/imports/stages/check/plain writes into memory. What it
// makes of a record is what the reader makes of it; a record of which that is not sure is odd, and goes to the reader.
//
// Memory: what stands below `heapBase()` is the code's own; the program lays out the rest, and says so in the variables below and in
// those of convert/.
import { copyTo } from './convert/bytes';
import { crc32, md5Of } from './convert/hashes';
import { heardCount, memberFrom, memberTo, readRecord } from './convert/record';
import { Memo, Piece, answerOf } from './convert/answers';
import { NO_TIME, microsOf, microsOfText, writeTime } from './convert/times';
import { deriveUuid, isUuidCounted, prepareUuid, uuidText } from './convert/uuids';
import { Fragment, prepareProperties, writeProperties } from './convert/properties';

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
  keysHad,
  heard,
  texts,
  textsEnd,
} from './convert/record';
export { lists, listCount, namesHad, namePlaces } from './convert/items';
export { textZone, numberZone, timeUnit, areDigits, isKept } from './convert/times';
export {
  steps,
  stepCount,
  groups,
  source,
  sourceBytes,
  settled,
  settledCount,
  settledPieces,
  values,
  isSettled,
  urlProperty,
  hostProperty,
  pathProperty,
  codeProperty,
  countryProperty,
  noGeoipProperty,
  groupsProperty,
  profileProperty,
  trimmedGroups,
  addsPerson,
} from './convert/properties';
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
  /** As JSON. */
  json: usize;
  jsonBytes: u32;
  /** By which the program knows it. */
  number: i32;
}

/** Whom an event belongs to. */
class Identity {
  json: usize;
  jsonBytes: u32;
  /** The id as it is stored. */
  id: usize;
  idBytes: u32;
  /** Properties that follow from the ids. */
  fragment: usize;
  number: i32;
}

/** What became of a record, for the program: whole numbers of 32 bits, and a time. */
class Result {
  nameNumber: i32;
  identityNumber: i32;
  /** Bytes that the event needs at most. */
  bytes: u32;
  isCounted: u32;
  heardCount: u32;
  sumLow: u32;
  sumHigh: u32;
  contentLow: u32;
  contentHigh: u32;
  _: u32;
  micros: f64;
}

/** Memos of names and of identities. */
export let names: usize = 0;
export let identities: usize = 0;
/** Of the time of the record; or a memo of it, 0 where there is none. */
export let timeMember: i32 = 0;
export let timeMemo: usize = 0;
/** Behind the properties: the mark of the run and the last bracket. */
export let ending: usize = 0;
export let endingBytes: u32 = 0;
/** Of an event. */
export let eventBytesMax: u32 = 0;
/** µs since the epoch; a later time is too far ahead. */
export let microsMax: f64 = 0;

/** Of an event beside its properties, its name and its id. */
const HEAD_BYTES: u32 = 256;
/** `{"uuid":"` */
const uuidKey: usize = memory.data<u8>([0x7b, 0x22, 0x75, 0x75, 0x69, 0x64, 0x22, 0x3a, 0x22, 0, 0, 0, 0, 0, 0, 0]);
/** `","event":` */
const eventKey: usize = memory.data<u8>([0x22, 0x2c, 0x22, 0x65, 0x76, 0x65, 0x6e, 0x74, 0x22, 0x3a, 0, 0, 0, 0, 0, 0]);
/** `,"distinct_id":` */
const idKey: usize = memory.data<u8>([
  0x2c, 0x22, 0x64, 0x69, 0x73, 0x74, 0x69, 0x6e, 0x63, 0x74, 0x5f, 0x69, 0x64, 0x22, 0x3a, 0,
]);
/** `,"timestamp":"` */
const timeKey: usize = memory.data<u8>([
  0x2c, 0x22, 0x74, 0x69, 0x6d, 0x65, 0x73, 0x74, 0x61, 0x6d, 0x70, 0x22, 0x3a, 0x22, 0, 0,
]);
/** `","properties":{` */
const propertiesKey: usize = memory.data<u8>([
  0x22, 0x2c, 0x22, 0x70, 0x72, 0x6f, 0x70, 0x65, 0x72, 0x74, 0x69, 0x65, 0x73, 0x22, 0x3a, 0x7b,
]);
const resultPlace: usize = memory.data(56, 8);
/** What the checksum of identities hashes: UUID, id, time. */
const identityText: usize = memory.data(2048, 16);
const ID_BYTES_MAX: u32 = 1800;

let micros: i64 = 0;
let name: usize = 0;
let identity: usize = 0;

export function heapBase(): usize {
  return __heap_base;
}

export function result(): usize {
  return resultPlace;
}

/** Reads the record there, behind which stands a line's end; false: it is odd. */
export function read(from: usize, to: usize): bool {
  if (!readRecord(from, to)) return false;
  name = answerOf(changetype<Memo>(names));
  if (name == 0) return false;
  micros = timeOfRecord();
  if (micros == NO_TIME || <f64>micros > microsMax) return false;
  identity = answerOf(changetype<Memo>(identities));
  if (identity == 0 || !prepareUuid(micros)) return false;
  const belongsTo = changetype<Identity>(identity);
  const needed = prepareProperties(changetype<Fragment>(belongsTo.fragment));
  const known = changetype<Name>(name);
  const bytes = needed + HEAD_BYTES + known.jsonBytes + belongsTo.jsonBytes + endingBytes;
  if (needed == 0 || bytes > eventBytesMax || belongsTo.idBytes > ID_BYTES_MAX) return false;
  const found = changetype<Result>(resultPlace);
  found.nameNumber = known.number;
  found.identityNumber = belongsTo.number;
  found.bytes = bytes;
  found.isCounted = isUuidCounted() ? 1 : 0;
  found.heardCount = heardCount;
  found.micros = <f64>micros;
  return true;
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

/** Writes the event of the record that was read, as JSON; gives where it ends. Its checksums are in the result. */
export function write(start: usize): usize {
  const known = changetype<Name>(name);
  const belongsTo = changetype<Identity>(identity);
  deriveUuid();
  let at = copyTo(start, uuidKey, 9);
  at = copyTo(at, uuidText, 36);
  at = copyTo(at, eventKey, 10);
  at = copyTo(at, known.json, known.jsonBytes);
  at = copyTo(at, idKey, 15);
  at = copyTo(at, belongsTo.json, belongsTo.jsonBytes);
  at = copyTo(at, timeKey, 14);
  at = writeTime(at, micros);
  at = copyTo(at, propertiesKey, 16);
  const from = at - 1;
  at = writeProperties(at);
  addChecksums(belongsTo, from, at);
  return copyTo(at, ending, endingBytes);
}

/** Writes the time of the record that was read; gives where it ends. */
export function writeTimeOfRecord(at: usize): usize {
  return writeTime(at, micros);
}

/** As src/imports/checksum.ts says. */
function addChecksums(belongsTo: Identity, from: usize, to: usize): void {
  const found = changetype<Result>(resultPlace);
  let at = copyTo(identityText, uuidText, 36);
  store<u8>(at++, 0);
  at = copyTo(at, belongsTo.id, belongsTo.idBytes);
  store<u8>(at++, 0);
  at = writeDigits(at, micros);
  md5Of(identityText, at - identityText, resultPlace + offsetof<Result>('sumLow'));
  const crc = crc32(from, to);
  found.contentLow = (crc ^ found.sumLow) * (found.sumHigh | 1);
  found.contentHigh = (crc ^ found.sumHigh) * (found.sumLow | 1);
}

/** Of a whole number, not negative. */
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
