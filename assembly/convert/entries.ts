// What a key means, as src/imports/stages/check/fast/table-memory.ts writes it. Numbers of 32 bits; -1: there is none.
import { sameBytes, plainTextEnd, hashOf } from './bytes';
import { meaningOfKey } from './ask';

export class Entry {
  /** Bytes of the key with its quotes; they stand behind the entry. 0: a property that no key of an object tells. */
  keyBytes: u32;
  /** The record is odd. */
  isOdd: u32;
  /** Object whose members are looked at. */
  object: i32;
  /** List of pairs that is looked at. */
  pairs: i32;
  /** An object under it is odd. */
  isNoObject: u32;
  member: i32;
  list: i32;
  property: i32;
  /** It stands under its own key. */
  isKept: u32;
  /** Numbers that no other key of the object may have. */
  ownKey: i32;
  ownName: i32;
  /** The name that it gets, where it is written. */
  name: i32;
  /** 1: $set, 2: $set_once, gathered and written in its place. */
  group: u32;
  isOfPerson: u32;
  heard: i32;
  /** `"name":` */
  output: usize;
  outputBytes: u32;
  /** Values that become nothing: pairs of place and length. */
  nothing: usize;
  nothings: u32;
  /** Places among the fields of lists: pairs of list and index. */
  fields: usize;
  fieldCount: u32;
  /** The entry that came next the last time. */
  next: usize;
}

const KEY_BYTES_MAX: usize = 1000;
/** More of them are names made of data: then all are looked up anew. */
const ENTRIES_MAX: u32 = 1024;
const SLOTS: u32 = 4096;

/** The keys of an object or of a list of pairs. */
export class KeyTable {
  /** 4,096 places for entries. */
  slots: usize;
  entries: u32;
  /** Stands before the first key. */
  start: usize;
  number: i32;
  mayBeText: u32;
  /** An empty text is no object. */
  mayBeEmpty: u32;
  isNeeded: u32;
  isThere: u32;
}

export function keyOf(entry: Entry): usize {
  return changetype<usize>(entry) + offsetof<Entry>();
}

/** The entry of the key whose quote stands at `at`, guessed by the one before it; null: it is not written plainly. */
export function findKey(table: KeyTable, at: usize, before: Entry): Entry | null {
  const guess = before.next;
  if (guess != 0) {
    const entry = changetype<Entry>(guess);
    if (sameBytes(keyOf(entry), at, entry.keyBytes)) return entry;
  }
  const end = plainTextEnd(at);
  if (end == 0 || end - at > KEY_BYTES_MAX) return null;
  const found = lookUp(table, at, end);
  before.next = changetype<usize>(found);
  return found;
}

function lookUp(table: KeyTable, from: usize, to: usize): Entry {
  let slot = hashOf(from, to - from) & (SLOTS - 1);
  let found: usize = load<u32>(table.slots + ((<usize>slot) << 2));
  while (found != 0) {
    const entry = changetype<Entry>(found);
    if (entry.keyBytes == <u32>(to - from) && sameBytes(keyOf(entry), from, to - from)) return entry;
    slot = (slot + 1) & (SLOTS - 1);
    found = load<u32>(table.slots + ((<usize>slot) << 2));
  }
  const made = changetype<Entry>(meaningOfKey(table.number, from, to));
  if (table.entries < ENTRIES_MAX) {
    store<u32>(table.slots + ((<usize>slot) << 2), changetype<usize>(made));
    table.entries += 1;
  } else {
    memory.fill(table.slots, 0, SLOTS << 2);
    table.entries = 0;
  }
  return made;
}
