// Members of a record that are written, list by list.
import { Entry } from './entries';

/** Items that are written one after the other. */
export class List {
  count: u32;
  /** Columns of ITEMS_MAX numbers: entry, start of the key (0: elsewhere), start and end of the value (0: moved elsewhere), its list. */
  entries: usize;
  keys: usize;
  from: usize;
  to: usize;
  by: usize;
  /** Whether a name of an earlier list overrides this one's; otherwise a record with the name in both is unusual. */
  wins: u32;
  /** For separate members: whether anything but a non-blank text, or a missing one, makes the record unusual. */
  areTexts: u32;
  areNeeded: u32;
  /** Only for records in which this member has this value; -1 for all. */
  onlyMember: i32;
  onlyFrom: usize;
  onlyBytes: u32;
  /** Entries of separate members, and the position of each value: start and end. */
  fields: usize;
  fieldCount: u32;
  fieldSpans: usize;
}

const ITEMS_MAX: u32 = 1024;
export const LIST_BYTES: usize = 60;

export const UNUSUAL: i32 = 0;
export const WRITTEN: i32 = 1;
/** A later list provides another value. */
export const LOST: i32 = 2;

/** Array of List. */
export let lists: usize = 0;
export let listCount: i32 = 0;
/** By name: number of the last record that contained it, and the position of its item; -1 without an item. */
export let namesSeen: usize = 0;
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

/** Marks a name as used; returns false if it already was. */
export function claimName(name: i32): bool {
  if (name < 0 || isNameClaimed(name)) return false;
  setNumber(namesSeen, name, record);
  setNumber(namePlaces, name, -1);
  return true;
}

export function isNameClaimed(name: i32): bool {
  return numberIn(namesSeen, name) == record;
}

/** Adds a value and returns what happened to it. `key` is the start of its key, or 0 if that is elsewhere. */
export function addItem(list: i32, entry: Entry, key: usize, from: usize, to: usize): i32 {
  const name = entry.name;
  if (name < 0) return UNUSUAL;
  if (isNameClaimed(name)) return merge(list, entry, numberIn(namePlaces, name), from, to);
  setNumber(namesSeen, name, record);
  return append(list, entry, key, from, to, list) ? WRITTEN : UNUSUAL;
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

/** The item keeps the position in the earlier list and gets the value of the later one. */
function merge(list: i32, entry: Entry, place: i32, from: usize, to: usize): i32 {
  if (place < 0) return UNUSUAL;
  const other = place / ITEMS_MAX;
  const index = <u32>place % ITEMS_MAX;
  const items = listAt(other);
  const by: i32 = numberIn(items.by, index);
  // Two keys with one name are left to the reader.
  const isSame = entry.isKept != 0 && entryIn(items, index).isKept != 0;
  if (other == list || by == list || !isSame || listAt(max(other, list)).wins == 0) return UNUSUAL;
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
  return append(list, entry, 0, keptFrom, keptTo, by) ? LOST : UNUSUAL;
}
