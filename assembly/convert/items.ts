// Members of a record that are written, list by list.
import { Entry } from './entries';

/** What is written of a record in one piece: items one after the other. */
export class List {
  count: u32;
  /** Columns of ITEMS_MAX numbers: entry, start of the key (0: elsewhere), start and end of the value (0: gone elsewhere), its list. */
  entries: usize;
  keys: usize;
  from: usize;
  to: usize;
  by: usize;
  /** A name that an earlier list has is its own; else a record in which two have it is odd. */
  wins: u32;
  /** Of members one by one: others than texts that are not blank are odd; a record that lacks one is odd. */
  areTexts: u32;
  areNeeded: u32;
  /** Only of records in which this member is written so; -1: of all. */
  onlyMember: i32;
  onlyFrom: usize;
  onlyBytes: u32;
  /** Entries of members one by one, and the place of the value of each: start and end. */
  fields: usize;
  fieldCount: u32;
  fieldSpans: usize;
}

const ITEMS_MAX: u32 = 1024;
export const LIST_BYTES: usize = 60;

export const ODD: i32 = 0;
export const WRITTEN: i32 = 1;
/** A later list says something else. */
export const LOST: i32 = 2;

/** Of List. */
export let lists: usize = 0;
export let listCount: i32 = 0;
/** By name: number of the record that had it last, and the place of its item there; -1: it is no item's. */
export let namesHad: usize = 0;
export let namePlaces: usize = 0;

let record: u32 = 0;

export function clearItems(): void {
  record += 1;
  for (let list: i32 = 0; list < listCount; list++) listAt(list).count = 0;
}

export function listAt(list: i32): List {
  return changetype<List>(lists + <usize>list * LIST_BYTES);
}

export function numberIn(column: usize, index: u32): u32 {
  return load<u32>(column + ((<usize>index) << 2));
}

function setNumber(column: usize, index: u32, value: u32): void {
  store<u32>(column + ((<usize>index) << 2), value);
}

function setPlace(column: usize, index: u32, place: usize): void {
  store<usize>(column + ((<usize>index) << 2), place);
}

export function entryIn(list: List, index: u32): Entry {
  return changetype<Entry>(<usize>numberIn(list.entries, index));
}

/** Marks a name as had; false: it was. */
export function claimName(name: i32): bool {
  if (name < 0 || isNameClaimed(name)) return false;
  setNumber(namesHad, name, record);
  setNumber(namePlaces, name, -1);
  return true;
}

export function isNameClaimed(name: i32): bool {
  return numberIn(namesHad, name) == record;
}

/** What becomes of a value. `key`: where its key begins; 0: elsewhere. */
export function addItem(list: i32, entry: Entry, key: usize, from: usize, to: usize): i32 {
  const name = entry.name;
  if (name < 0) return ODD;
  if (isNameClaimed(name)) return merge(list, entry, numberIn(namePlaces, name), from, to);
  setNumber(namesHad, name, record);
  return append(list, entry, key, from, to, list) ? WRITTEN : ODD;
}

function append(list: i32, entry: Entry, key: usize, from: usize, to: usize, by: i32): bool {
  const items = listAt(list);
  const count = items.count;
  if (count == ITEMS_MAX) return false;
  setPlace(items.entries, count, changetype<usize>(entry));
  setPlace(items.keys, count, key);
  setPlace(items.from, count, from);
  setPlace(items.to, count, to);
  setNumber(items.by, count, by);
  items.count = count + 1;
  setNumber(namePlaces, entry.name, <u32>list * ITEMS_MAX + count);
  return true;
}

/** The item stands where the earlier list has it, and says what the later one says. */
function merge(list: i32, entry: Entry, place: i32, from: usize, to: usize): i32 {
  if (place < 0) return ODD;
  const other = place / ITEMS_MAX;
  const index = <u32>place % ITEMS_MAX;
  const items = listAt(other);
  const by: i32 = numberIn(items.by, index);
  // Two keys that become one name are the reader's to tell apart.
  const isSame = entry.isKept != 0 && entryIn(items, index).isKept != 0;
  if (other == list || by == list || !isSame || listAt(max(other, list)).wins == 0) return ODD;
  if (list > other) {
    if (list < by) return LOST;
    setNumber(items.keys, index, 0);
    setPlace(items.from, index, from);
    setPlace(items.to, index, to);
    setNumber(items.by, index, list);
    return WRITTEN;
  }
  const keptFrom: usize = numberIn(items.from, index);
  const keptTo: usize = numberIn(items.to, index);
  setNumber(items.from, index, 0);
  return append(list, entry, 0, keptFrom, keptTo, by) ? LOST : ODD;
}
