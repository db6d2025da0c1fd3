import { nameCharsMax } from '../../../../batch/limits.ts';
import { hashOf } from './byte-memo.ts';
import { notCanonical, plainTextEnd, sameBytes } from './canonical-value.ts';

/** What a key of an object means, found out once. Negative numbers: there is none. */
export interface KeyEntry {
  /** With its quotes. */
  readonly key: Buffer;
  readonly isOdd: boolean;
  /** What stands under it is an object whose members are looked at. */
  readonly object: number;
  /** What stands under it is a list of pairs that are looked at. */
  readonly pairs: number;
  /** An object under it is odd. */
  readonly isNoObject: boolean;
  /** Under which its value is looked at. */
  readonly member: number;
  /** The list of which it becomes an item, unless its value is one that becomes nothing. */
  readonly list: number;
  /** Lists that have a place for it. */
  readonly fields: readonly { readonly list: number; readonly index: number }[];
  /** Under which it is looked at as a property. */
  readonly property: number;
  /** What it becomes: `"name":`. */
  readonly output: Buffer;
  /** The output is the key. */
  readonly isKept: boolean;
  /** Names that no other member of the object may have: its own, and the one that it gets. */
  readonly ownKey: number;
  readonly ownName: number;
  /** The name that it gets, where it is written. */
  readonly name: number;
  /** What is gathered for this property stands in its place. */
  readonly group: '$set' | '$set_once' | undefined;
  /** It says something of the person. */
  readonly isOfPerson: boolean;
  /** Values that become nothing. */
  readonly nothing: readonly Buffer[];
  /** Name of the property when somebody wants to hear it. */
  readonly heard: string | undefined;
  /** The one that came next the last time. */
  next: KeyEntry | undefined;
}

export type KeyMeaning = Omit<KeyEntry, 'key' | 'next'>;

/** The keys of one object of the records. */
export interface KeyTable {
  /** The key whose quote stands there, guessed by the one before it; undefined: it is not written plainly. */
  find(json: Buffer, at: number, before: KeyEntry): KeyEntry | undefined;
  /** Stands before the first key. */
  readonly start: KeyEntry;
}

/** More of them are names made of data: then all are looked up anew. */
const entriesMax = 1024;
const slots = entriesMax * 4;
const keyBytesMax = 1000;

export function createKeyTable(meaningOf: (key: string) => KeyMeaning): KeyTable {
  const table: (KeyEntry | undefined)[] = Array.from({ length: slots }, () => undefined);
  const start = entryOf(Buffer.alloc(0), oddKey);
  let entries = 0;
  const lookUp = (json: Buffer, from: number, to: number): KeyEntry => {
    let slot = hashOf(json, from, to) & (slots - 1);
    for (let found = table[slot]; found !== undefined; found = table[slot]) {
      if (found.key.length === to - from && sameBytes(found.key, 0, json, from, to - from)) return found;
      slot = (slot + 1) & (slots - 1);
    }
    const key = Buffer.from(json.subarray(from, to));
    const made = entryOf(key, keyMeaning(key.toString('utf8', 1, key.length - 1), meaningOf));
    if (entries < entriesMax) {
      table[slot] = made;
      entries += 1;
      return made;
    }
    table.fill(undefined);
    entries = 0;
    return made;
  };
  return {
    start,
    find: (json, at, before) => {
      const guess = before.next;
      if (guess !== undefined && sameBytes(guess.key, 0, json, at, guess.key.length)) return guess;
      const end = plainTextEnd(json, at);
      if (end === notCanonical || end - at > keyBytesMax) return undefined;
      const found = lookUp(json, at, end);
      before.next = found;
      return found;
    },
  };
}

/** All entries have one form, which the engine is fast at. */
function entryOf(key: Buffer, meaning: KeyMeaning): KeyEntry {
  return {
    key,
    isOdd: meaning.isOdd,
    object: meaning.object,
    pairs: meaning.pairs,
    isNoObject: meaning.isNoObject,
    member: meaning.member,
    list: meaning.list,
    fields: meaning.fields,
    property: meaning.property,
    output: meaning.output,
    isKept: meaning.isKept,
    ownKey: meaning.ownKey,
    ownName: meaning.ownName,
    name: meaning.name,
    group: meaning.group,
    isOfPerson: meaning.isOfPerson,
    nothing: meaning.nothing,
    heard: meaning.heard,
    next: undefined,
  };
}

/** Of a key of which nothing is known. */
export const oddKey: KeyMeaning = {
  isOdd: true,
  object: -1,
  pairs: -1,
  isNoObject: false,
  member: -1,
  list: -1,
  fields: [],
  property: -1,
  output: Buffer.alloc(0),
  isKept: false,
  ownKey: -1,
  ownName: -1,
  name: -1,
  group: undefined,
  isOfPerson: false,
  nothing: [],
  heard: undefined,
};

function keyMeaning(key: string, meaningOf: (key: string) => KeyMeaning): KeyMeaning {
  return isOddKey(key) ? oddKey : meaningOf(key);
}

/** Objects have numbers in front, whatever came first, and names that are too long are counted. */
export function isOddKey(key: string): boolean {
  return /^\d/.test(key) || key === '__proto__' || key.length > nameCharsMax;
}
