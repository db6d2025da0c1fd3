// The meaning of keys, as written by the program. Numbers have 32 bits; -1 means none.
import { sameBytes, plainTextEnd, hashOf } from './bytes';
import { meaningOfKey } from './host';

export class Entry {
  /** Bytes of the key with its quotes, which follow the entry. 0: a property that is not from a key of an object. */
  keyBytes: u32;
  /** Whether its record is unusual. */
  isUnusual: u32;
  /** Number of the object whose members are read. */
  object: i32;
  /** Number of the list of pairs that is read. */
  pairs: i32;
  /** Whether an object as its value makes the record unusual. */
  rejectsObjects: u32;
  member: i32;
  list: i32;
  property: i32;
  /** Whether it keeps its own key. */
  isKept: u32;
  /** A number that no other key of the object may have. */
  ownKey: i32;
  ownName: i32;
  /** Number of the written name. */
  name: i32;
  /** 1: $set, 2: $set_once, collected and written at their position. */
  group: u32;
  isOfPerson: u32;
  unmapped: i32;
  /** `"name":` */
  output: usize;
  outputBytes: u32;
  /** Values that are treated as absent: pairs of address and length. */
  nothing: usize;
  nothingCount: u32;
  /** Positions among the fields of lists: pairs of list and index. */
  fields: usize;
  fieldCount: u32;
  /** The entry that followed the last time. */
  next: usize;
}

const KEY_BYTES_MAX: usize = 1000;
/** A larger number means that names contain data: then all are tracked up again. */
const ENTRIES_MAX: u32 = 1024;
const SLOTS: u32 = 4096;

/** The keys of an object or of a list of pairs. */
export class KeyTable {
  /** 4,096 slots for entries. */
  slots: usize;
  entries: u32;
  /** Precedes the first key. */
  start: usize;
  number: i32;
  mayBeText: u32;
  /** Whether an empty text counts as no object. */
  mayBeEmpty: u32;
  isNeeded: u32;
  isFound: u32;
}

export function keyOf(entry: Entry): usize {
  return changetype<usize>(entry) + offsetof<Entry>();
}

/** Returns the entry of the key at `at`, predicted from the previous one; null if it is not written plainly. */
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
  const entry = changetype<Entry>(meaningOfKey(table.number, from, to));
  if (table.entries < ENTRIES_MAX) {
    store<u32>(table.slots + ((<usize>slot) << 2), changetype<usize>(entry));
    table.entries += 1;
  } else {
    memory.fill(table.slots, 0, SLOTS << 2);
    table.entries = 0;
  }
  return entry;
}
