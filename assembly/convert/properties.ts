// Writes the properties of an event as its reader would have built them.
import { BACKSLASH, CLOSE_OBJECT, COMMA, QUOTE, byteAt, copyTo } from './bytes';
import { Entry } from './entries';
import { List, claimName, entryIn, isNameClaimed, listAt, numberIn } from './items';
import { bytesNeeded, countUnmapped, isOfPerson, propertyCount, propertyFrom, propertyTo } from './record';
import { Memo, Piece, answerOf } from './answers';
import { hasTwoCharacters } from './host';
import { endText, prepareUrl, urlBytes, writeUrl } from './urls';

/** Properties that are written unchanged: `"a":1,"b":"x",`. */
export class Fragment {
  from: usize;
  bytes: u32;
  /** Numbers of the names that they use. */
  names: usize;
  nameCount: u32;
  /** Properties that are read again: number of the property, start and end of its value. */
  tracked: usize;
  trackedCount: u32;
  /** Unmapped names, which the program counts. */
  unmapped: usize;
  unmappedCount: u32;
}

/** A part of the output. */
class Step {
  /** A list; a fragment that follows from values (memo); the fragment of the identity; person properties with and without those derived from the event. */
  kind: u32;
  /** Number of the list. */
  list: i32;
  memo: usize;
  /** The fragment for the current record. */
  fragment: usize;
}

const LIST: u32 = 0;
const DERIVED: u32 = 1;
const IDS: u32 = 2;
const PERSON: u32 = 3;
const SET: u32 = 4;
const STEP_BYTES: usize = 16;

/** Properties collected in a separate object: `$set` or `$set_once`. */
export class Group {
  /** `"$set":{` */
  key: usize;
  keyBytes: u32;
  /** Array of Step: lists and fragments. */
  parts: usize;
  partCount: u32;
  /** Person properties derived from event properties: property, name, and `"name":`. */
  standard: usize;
  standardCount: u32;
  isWritten: u32;
  /** Where the object was written; an end of 0 means that it was not. */
  from: usize;
  to: usize;
}

class Standard {
  property: i32;
  name: i32;
  key: usize;
  keyBytes: u32;
}

const STANDARD_BYTES: usize = 16;
const GROUP_BYTES: usize = 36;
const GROUPS: i32 = 2;

/** A text that is normalised in place: its property and the memo of the result. */
class NormalisedText {
  property: i32;
  memo: usize;
}

const NORMALISED_BYTES: usize = 8;
/** Room for punctuation and for rewritten texts that get longer. */
const SLACK: u32 = 256;

/** Array of Step, in order. */
export let steps: usize = 0;
export let stepCount: i32 = 0;
/** Array of Group: `$set`, then `$set_once`. */
export let groups: usize = 0;
/** `"$import_source":"…",` */
export let source: usize = 0;
export let sourceBytes: u32 = 0;
/** Array of NormalisedText. */
export let normalisedTexts: usize = 0;
export let normalisedCount: i32 = 0;
/** By property: the text that replaces its value; 0 means its value. */
export let normalisedPieces: usize = 0;
/** By property: start and end of its value in the record or a fragment. */
export let values: usize = 0;
/** Whether devices, countries and pages stay unchanged. */
export let isNormalised: bool = false;
/** Numbers of properties that are read. */
export let countryProperty: i32 = 0;
export let codeProperty: i32 = 0;
export let noGeoipProperty: i32 = 0;
export let groupsProperty: i32 = 0;
export let profileProperty: i32 = 0;
/** Memo of whether the keys of groups have no surrounding white space. */
export let trimmedGroups: usize = 0;
/** Whether person properties are derived from the event. */
export let addsPerson: bool = false;

/** `"$geoip_disable":true,` */
const noGeoip: usize = memory.data<u8>([
  0x22, 0x24, 0x67, 0x65, 0x6f, 0x69, 0x70, 0x5f, 0x64, 0x69, 0x73, 0x61, 0x62, 0x6c, 0x65, 0x22, 0x3a, 0x74, 0x72,
  0x75, 0x65, 0x2c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
]);
const NO_GEOIP: usize = 22;
/** `"$geoip_country_code":"` */
const codeKey: usize = memory.data<u8>([
  0x22, 0x24, 0x67, 0x65, 0x6f, 0x69, 0x70, 0x5f, 0x63, 0x6f, 0x75, 0x6e, 0x74, 0x72, 0x79, 0x5f, 0x63, 0x6f, 0x64,
  0x65, 0x22, 0x3a, 0x22, 0, 0, 0, 0, 0, 0, 0, 0, 0,
]);
const CODE_KEY: usize = 23;

function stepAt(first: usize, index: u32): Step {
  return changetype<Step>(first + <usize>index * STEP_BYTES);
}

export function groupAt(index: u32): Group {
  return changetype<Group>(groups + <usize>index * GROUP_BYTES);
}

/** Returns the maximum bytes needed; 0 means that the record is unusual. `ids` are the properties that follow from its ids. */
export function prepareProperties(ids: Fragment): u32 {
  memory.fill(values, 0, (<usize>propertyCount) << 3);
  let bytes = bytesNeeded + sourceBytes + SLACK;
  for (let at: i32 = 0; at < stepCount; at++) {
    const step = stepAt(steps, at);
    if (step.kind != DERIVED && step.kind != IDS) continue;
    const fragment = step.kind == IDS ? ids : changetype<Fragment>(answerOf(changetype<Memo>(step.memo)));
    if (changetype<usize>(fragment) == 0 || !addFragment(fragment)) return 0;
    step.fragment = changetype<usize>(fragment);
    bytes += fragment.bytes * 2;
  }
  const ofPerson = preparePerson();
  if (ofPerson < 0 || !passesChecks(ofPerson > 0)) return 0;
  bytes += ofPerson;
  if (isNormalised) return bytes;
  if (!prepareNormalised() || !prepareUrl() || !prepareCountry()) return 0;
  return bytes + urlBytes();
}

function addFragment(fragment: Fragment): bool {
  for (let at: u32 = 0; at < fragment.nameCount; at++) {
    if (!claimName(numberIn(fragment.names, at))) return false;
  }
  for (let at: u32 = 0; at < fragment.trackedCount; at++) {
    const place = fragment.tracked + <usize>at * 12;
    const value = values + ((<usize>load<u32>(place)) << 3);
    store<u32>(value, load<u32>(place + 4));
    store<u32>(value + 4, load<u32>(place + 8));
  }
  for (let at: u32 = 0; at < fragment.unmappedCount; at++) countUnmapped(numberIn(fragment.unmapped, at));
  return true;
}

/** Finds the properties that follow from members. Returns their bytes; negative means that the record is unusual. */
function preparePerson(): i32 {
  let bytes: i32 = 0;
  for (let group: i32 = 0; group < GROUPS; group++) {
    const own = groupAt(group);
    for (let at: u32 = 0; at < own.partCount; at++) {
      const part = stepAt(own.parts, at);
      if (part.kind == LIST) continue;
      const fragment = changetype<Fragment>(answerOf(changetype<Memo>(part.memo)));
      if (changetype<usize>(fragment) == 0) return -1;
      for (let name: u32 = 0; name < fragment.nameCount; name++) {
        if (!claimName(numberIn(fragment.names, name))) return -1;
      }
      part.fragment = changetype<usize>(fragment);
      bytes += fragment.bytes;
    }
  }
  return bytes;
}

/** Checks properties that allow only some values. `hasPersonFragment`: fragments contain person properties. */
function passesChecks(hasPersonFragment: bool): bool {
  const geoip = propertyFrom(noGeoipProperty);
  // The only four-letter word with this first letter is true.
  if (geoip != 0 && (byteAt(geoip) != 0x74 || propertyTo(noGeoipProperty) - geoip != 4)) return false;
  if (propertyFrom(groupsProperty) != 0 && answerOf(changetype<Memo>(trimmedGroups)) == 0) return false;
  // Person properties of such an event are not stored.
  const profile = propertyFrom(profileProperty);
  return profile == 0 || (byteAt(profile) == 0x66 && !addsPerson && !isOfPerson && !hasPersonFragment);
}

function prepareNormalised(): bool {
  for (let at: i32 = 0; at < normalisedCount; at++) {
    const text = changetype<NormalisedText>(normalisedTexts + <usize>at * NORMALISED_BYTES);
    const from = propertyFrom(text.property);
    let piece: usize = 0;
    if (from != 0 && byteAt(from) == QUOTE) {
      piece = answerOf(changetype<Memo>(text.memo));
      if (piece == 0) return false;
    }
    store<u32>(normalisedPieces + ((<usize>text.property) << 2), piece);
  }
  return true;
}

function normalisedPieceOf(property: i32): usize {
  return property < 0 || isNormalised ? 0 : numberIn(normalisedPieces, property);
}

/** Returns the position of a property's value in a fragment or in the record; 0 if it has none. */
export function valueFrom(property: i32): usize {
  const from: usize = fragmentFrom(property);
  return from != 0 ? from : propertyFrom(property);
}

export function valueTo(property: i32): usize {
  return fragmentFrom(property) != 0 ? <usize>load<u32>(values + ((<usize>property) << 3) + 4) : propertyTo(property);
}

function fragmentFrom(property: i32): usize {
  return load<u32>(values + ((<usize>property) << 3));
}

export function isNull(from: usize): bool {
  return from != 0 && byteAt(from) == 0x6e;
}

/** Whether a country of two letters is a code, which fills its property unless that exists. */
let isCountryCode: bool = false;
/** Position of the letters; 0 if none are written. */
let codeFrom: usize = 0;

function prepareCountry(): bool {
  isCountryCode = isShortText(countryProperty);
  codeFrom = 0;
  if (!isCountryCode) return true;
  const from = propertyFrom(countryProperty);
  const code = valueFrom(codeProperty);
  // A null would be filled in at its position; a fragment is written whole; two characters may have more than two bytes.
  if (isNull(code) || fragmentFrom(countryProperty) != 0 || propertyTo(countryProperty) - from != 4) return false;
  if (code == 0) codeFrom = from + 1;
  return true;
}

function writeCountry(start: usize): usize {
  if (codeFrom == 0) return start;
  const at = copyTo(start, codeKey, CODE_KEY);
  store<u8>(at, capital(byteAt(codeFrom)));
  store<u8>(at + 1, capital(byteAt(codeFrom + 1)));
  return endText(at + 2);
}

function capital(letter: u32): u32 {
  return letter >= 0x61 && letter <= 0x7a ? letter - 0x20 : letter;
}

/** Whether another value is written for it, at the end. */
function isMoved(entry: Entry, mayNormalise: bool): bool {
  return mayNormalise && !isNormalised && isCountryCode && entry.property == countryProperty;
}

/** Whether a text may be two characters long. */
function isShortText(property: i32): bool {
  const from = valueFrom(property);
  const to = valueTo(property);
  if (from == 0 || byteAt(from) != QUOTE || to - from > 14) return false;
  // Escapes and multi-byte characters are counted by the program.
  for (let at = from + 1; at < to - 1; at++) {
    if (byteAt(at) == BACKSLASH || byteAt(at) > 0x7f) return hasTwoCharacters(from, to);
  }
  return to - from == 4;
}

/** Writes the prepared properties as an object without brackets and without the trailing comma. Returns the end. */
export function writeProperties(start: usize): usize {
  for (let index: i32 = 0; index < GROUPS; index++) {
    const group = groupAt(index);
    group.isWritten = 0;
    group.to = 0;
  }
  let at = start;
  for (let index: i32 = 0; index < stepCount; index++) {
    const step = stepAt(steps, index);
    if (step.kind == LIST) at = writeList(at, step.list, true);
    else if (step.kind == PERSON || step.kind == SET) at = writeRest(at, step.kind == PERSON);
    else at = writeFragment(at, step.fragment);
  }
  if (!isNormalised) at = writeUrl(writeCountry(at));
  if (propertyFrom(noGeoipProperty) == 0) at = copyTo(at, noGeoip, NO_GEOIP);
  at = copyTo(at, source, sourceBytes);
  return at - 1;
}

function writeFragment(at: usize, place: usize): usize {
  const fragment = changetype<Fragment>(place);
  return copyTo(at, fragment.from, fragment.bytes);
}

/** Writes the collected properties that were not written at their position; `isPerson` adds those derived from the event. */
function writeRest(start: usize, isPerson: bool): usize {
  let at = start;
  for (let index: i32 = 0; index < GROUPS; index++) {
    const group = groupAt(index);
    if (group.isWritten == 0) at = writeGroup(at, group, isPerson);
  }
  return at;
}

/** Writes nothing if the group is empty. */
function writeGroup(start: usize, group: Group, isPerson: bool): usize {
  let at = copyTo(start, group.key, group.keyBytes);
  const empty = at;
  for (let index: u32 = 0; index < group.partCount; index++) {
    const part = stepAt(group.parts, index);
    at = part.kind == LIST ? writeList(at, part.list, false) : writeFragment(at, part.fragment);
  }
  if (isPerson) {
    for (let index: u32 = 0; index < group.standardCount; index++) {
      const standard = changetype<Standard>(group.standard + <usize>index * STANDARD_BYTES);
      if (!isNameClaimed(standard.name)) at = writeStandard(at, standard);
    }
  }
  if (at == empty) return start;
  store<u8>(at - 1, CLOSE_OBJECT);
  store<u8>(at, COMMA);
  group.from = empty - 1;
  group.to = at;
  return at + 1;
}

/** Whether the prepared properties contain more about groups or the person than `$set` and `$set_once`. */
export function isSpecial(): bool {
  return valueFrom(groupsProperty) != 0 || valueFrom(profileProperty) != 0;
}

/** Writes the derived property if its value is set. */
function writeStandard(start: usize, standard: Standard): usize {
  const from = valueFrom(standard.property);
  const to = valueTo(standard.property);
  // The only word with this first letter is null.
  if (from == 0 || byteAt(from) == 0x6e) return start;
  const at = copyTo(copyTo(start, standard.key, standard.keyBytes), from, to - from);
  store<u8>(at, COMMA);
  return at + 1;
}

/** `mayNormalise` allows normalised texts. */
function writeList(start: usize, number: i32, mayNormalise: bool): usize {
  const list = listAt(number);
  const count: i32 = list.count;
  const from = list.from;
  let at = start;
  let index: i32 = 0;
  while (index < count) {
    if (numberIn(from, index) == 0 || isMoved(entryIn(list, index), mayNormalise)) {
      index++;
      continue;
    }
    const group = entryIn(list, index).group;
    if (group != 0) {
      const collected = groupAt(group - 1);
      const end = writeGroup(at, collected, false);
      if (end != at) {
        collected.isWritten = 1;
        at = end;
        index++;
        continue;
      }
    }
    const last = lastAsWritten(list, index, mayNormalise);
    at = last < index ? writeItem(at, list, index, mayNormalise) : writeAsWritten(at, list, index, last);
    index = max(index, last) + 1;
  }
  return at;
}

/** Returns the last of the adjacent items that can be copied together; the one before `first` if that must be rewritten. */
function lastAsWritten(list: List, first: i32, mayNormalise: bool): i32 {
  if (!isAsWritten(list, first, mayNormalise)) return first - 1;
  let last = first;
  while (
    last + 1 < <i32>list.count &&
    numberIn(list.keys, last + 1) == numberIn(list.to, last) + 1 &&
    isAsWritten(list, last + 1, mayNormalise)
  ) {
    last++;
  }
  return last;
}

function writeAsWritten(start: usize, list: List, first: i32, last: i32): usize {
  const from: usize = numberIn(list.keys, first);
  const to: usize = numberIn(list.to, last);
  const at = copyTo(start, from, to - from);
  store<u8>(at, COMMA);
  return at + 1;
}

function writeItem(start: usize, list: List, index: i32, mayNormalise: bool): usize {
  const entry = entryIn(list, index);
  let at = copyTo(start, entry.output, entry.outputBytes);
  const other = mayNormalise ? normalisedPieceOf(entry.property) : 0;
  if (other != 0) {
    const piece = changetype<Piece>(other);
    at = copyTo(at, piece.from, piece.bytes);
  } else {
    const from: usize = numberIn(list.from, index);
    const to: usize = numberIn(list.to, index);
    at = copyTo(at, from, to - from);
  }
  store<u8>(at, COMMA);
  return at + 1;
}

/** Whether it has the same key, directly before its value. */
function isAsWritten(list: List, index: i32, mayNormalise: bool): bool {
  const entry: Entry = entryIn(list, index);
  const key = numberIn(list.keys, index);
  return (
    entry.isKept != 0 &&
    key != 0 &&
    entry.group == 0 &&
    numberIn(list.from, index) - key == entry.outputBytes &&
    (!mayNormalise || normalisedPieceOf(entry.property) == 0) &&
    !isMoved(entry, mayNormalise)
  );
}
