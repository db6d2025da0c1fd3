import { counted, notCanonical, plainTextEnd, quote, sameBytes, skipSpace, valueEnd } from './canonical-value.ts';
import type { CompiledList, CompiledPairs, CompiledTable } from './compiled-table.ts';
import { createItemLists, type ItemLists } from './item-lists.ts';
import type { KeyEntry, KeyMeaning } from './key-table.ts';
import { nameNumbersMax } from './name-numbers.ts';
import { readPairValue, type PairValue } from './pair-value.ts';
import { unescapeText } from './unescape-text.ts';

/** Where in a line its parts stand, found in one pass; the same object for every line. */
export interface RecordSpans {
  /** False: the record is odd. */
  read(line: Buffer, from: number, to: number): boolean;
  /** Where the record stands in it. */
  readonly from: number;
  readonly to: number;
  /** What the spans are of: the line, or a copy of it with what its texts of JSON say. */
  readonly json: Buffer;
  /** Start and end of a member's value; -1: it is not there. */
  memberFrom(member: number): number;
  memberTo(member: number): number;
  propertyFrom(property: number): number;
  propertyTo(property: number): number;
  readonly items: ItemLists;
  /** Bytes that the properties need at most: what may be said of the person comes twice. */
  readonly bytes: number;
  /** Whether something is said of the person. */
  readonly isOfPerson: boolean;
  /** Names of properties that somebody wants to hear. */
  readonly heard: string[];
}

/** Of all objects of a record; the door minds twice as many. */
const keysMax = 5000;
const openObject = 0x7b;
const closeObject = 0x7d;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openList = 0x5b;
const closeList = 0x5d;
const pairStart = Buffer.from('{"key":');
const pairMiddle = Buffer.from(',"value":');
/** Ends whatever stands before it. */
const newline = 0x0a;

export function createRecordSpans(table: CompiledTable): RecordSpans {
  return new Spans(table);
}

class Spans implements RecordSpans {
  readonly items: ItemLists;
  readonly heard: string[] = [];
  json: Buffer = Buffer.alloc(0);
  from = 0;
  to = 0;
  bytes = 0;
  isOfPerson = false;
  readonly #table: CompiledTable;
  readonly #hasTexts: boolean;
  readonly #hasFields: boolean;
  readonly #needed: readonly number[];
  readonly #neededPairs: readonly number[];
  /** Lists of pairs that were there. */
  readonly #hadPairs: Uint8Array;
  readonly #pairValue: PairValue = { from: -1, to: -1 };
  readonly #members: Int32Array;
  readonly #properties: Int32Array;
  /** Values of members that become properties one by one: start and end, list by list. */
  readonly #fields: readonly Int32Array[];
  /** Objects that were there. */
  readonly #isThere: Uint8Array;
  /** Number of the record that had a key last. */
  readonly #keys = new Int32Array(nameNumbersMax);
  #record = 0;
  #copy: Buffer = Buffer.alloc(0);
  /** End of what is used of the copy. */
  #copied = 0;

  constructor(table: CompiledTable) {
    this.#table = table;
    this.items = createItemLists(table);
    this.#hasTexts = table.objects.some(({ mayBeText }) => mayBeText);
    this.#needed = table.objects.flatMap(({ isNeeded }, object) => (isNeeded ? [object] : []));
    this.#neededPairs = table.pairs.flatMap(({ isNeeded }, pairs) => (isNeeded ? [pairs] : []));
    this.#hadPairs = new Uint8Array(table.pairs.length);
    this.#members = new Int32Array(table.members * 2);
    this.#properties = new Int32Array(table.properties * 2);
    this.#fields = table.lists.map(({ fields = [] }) => new Int32Array(fields.length * 2));
    this.#hasFields = this.#fields.some(({ length }) => length > 0);
    this.#isThere = new Uint8Array(table.objects.length);
  }

  read(line: Buffer, from: number, to: number): boolean {
    this.#clear();
    if (!this.#hasTexts) {
      this.json = line;
      return this.#readRecord(from, to);
    }
    const length = to - from;
    // What a text says is shorter than the text.
    if (this.#copy.length < length * 2 + 2) this.#copy = Buffer.allocUnsafeSlow(length * 4 + 2);
    line.copy(this.#copy, 0, from, to);
    this.#copy[length] = newline;
    this.#copied = length + 1;
    this.json = this.#copy;
    return this.#readRecord(0, length);
  }

  #clear(): void {
    this.#record = (this.#record + 1) | 0;
    this.items.clear();
    this.#members.fill(-1);
    this.#properties.fill(-1);
    this.#isThere.fill(0);
    this.#hadPairs.fill(0);
    for (const fields of this.#fields) fields.fill(-1);
    this.bytes = 0;
    this.isOfPerson = false;
    counted.keys = 0;
    if (this.heard.length > 0) this.heard.length = 0;
  }

  #readRecord(from: number, to: number): boolean {
    const { json } = this;
    this.from = from;
    this.to = to;
    const end = this.#walk(json, from, 0);
    if (end < 0 || end > to || (end < to && skipSpace(json, end) < to) || counted.keys > keysMax) return false;
    for (const object of this.#needed) if (this.#isThere[object] === 0) return false;
    for (const pairs of this.#neededPairs) if (this.#hadPairs[pairs] === 0) return false;
    return !this.#hasFields || this.#addFields();
  }

  memberFrom(member: number): number {
    return this.#members[member * 2] as number;
  }

  memberTo(member: number): number {
    return this.#members[member * 2 + 1] as number;
  }

  propertyFrom(property: number): number {
    return this.#properties[property * 2] as number;
  }

  propertyTo(property: number): number {
    return this.#properties[property * 2 + 1] as number;
  }

  /** An object; gives where it ends, or notCanonical where it is odd. */
  #walk(json: Buffer, from: number, object: number): number {
    const keys = this.#table.objects[object]?.keys;
    if (keys === undefined || json[from] !== openObject) return notCanonical;
    this.#isThere[object] = 1;
    let at = from + 1;
    if (json[at] !== quote) at = skipSpace(json, at);
    if (json[at] === closeObject) return at + 1;
    let before = keys.start;
    for (;;) {
      if (json[at] !== quote) return notCanonical;
      const entry = keys.find(json, at, before);
      if (entry === undefined || entry.isOdd) return notCanonical;
      before = entry;
      let value = at + entry.key.length;
      if (json[value] !== colon) value = skipSpace(json, value);
      if (json[value] !== colon) return notCanonical;
      value += 1;
      if ((json[value] as number) <= 0x20) value = skipSpace(json, value);
      const end = this.#member(json, at, value, entry);
      if (end < 0) return notCanonical;
      at = end;
      if (json[at] !== comma) at = skipSpace(json, at);
      if (json[at] === closeObject) return at + 1;
      if (json[at] !== comma) return notCanonical;
      at += 1;
      if (json[at] !== quote) at = skipSpace(json, at);
    }
  }

  #member(json: Buffer, key: number, from: number, entry: KeyEntry): number {
    counted.keys += 1;
    if (!this.#claimKey(entry)) return notCanonical;
    const end = entry.object >= 0 ? this.#object(json, from, entry) : this.#value(json, from, entry);
    if (end < 0 || (isLookedInto(entry) && endOfValue(json, from) !== end)) return notCanonical;
    if (entry.member >= 0) {
      this.#members[entry.member * 2] = from;
      this.#members[entry.member * 2 + 1] = end;
    }
    if (entry.fields.length > 0) this.#keepFields(entry, from, end);
    if (entry.list < 0 || (entry.nothing.length > 0 && isNothing(json, from, end, entry))) return end;
    return this.#item(entry.list, entry, key, from, end) ? end : notCanonical;
  }

  #value(json: Buffer, from: number, { pairs, isNoObject }: KeyEntry): number {
    if (pairs >= 0) return json[from] === openList ? this.#pairs(json, from, pairs) : nullEnd(json, from);
    return isNoObject && json[from] === openObject ? notCanonical : endOfValue(json, from);
  }

  /** `[{"key":"plan","value":{"string_value":"pro"}}]` and no other form. */
  #pairs(json: Buffer, from: number, pairs: number): number {
    const { keys } = this.#table.pairs[pairs] as CompiledPairs;
    this.#hadPairs[pairs] = 1;
    if (json[from + 1] === closeList) return from + 2;
    let before = keys.start;
    let at = from;
    do {
      const key = at + 1 + pairStart.length;
      if (!sameBytes(pairStart, 0, json, at + 1, pairStart.length) || json[key] !== quote) return notCanonical;
      const entry = keys.find(json, key, before);
      if (entry === undefined || entry.isOdd || !this.#claimKey(entry)) return notCanonical;
      before = entry;
      const value = key + entry.key.length + pairMiddle.length;
      if (!sameBytes(pairMiddle, 0, json, value - pairMiddle.length, pairMiddle.length)) return notCanonical;
      at = readPairValue(json, value, this.#pairValue);
      if (at < 0 || json[at] !== closeObject || !this.#pair(json, entry)) return notCanonical;
      counted.keys += 1;
      at += 1;
    } while (json[at] === comma);
    return json[at] === closeList ? at + 1 : notCanonical;
  }

  /** What the value says has been found. */
  #pair(json: Buffer, entry: KeyEntry): boolean {
    const { from, to } = this.#pairValue;
    if (from < 0 || entry.list < 0 || isNothing(json, from, to, entry)) return true;
    return this.#item(entry.list, entry, -1, from, to);
  }

  #claimKey({ ownKey, ownName }: KeyEntry): boolean {
    const keys = this.#keys;
    const record = this.#record;
    if (keys[ownKey] === record) return false;
    keys[ownKey] = record;
    if (ownName === ownKey) return true;
    if (ownName < 0 || keys[ownName] === record) return false;
    keys[ownName] = record;
    return true;
  }

  #keepFields(entry: KeyEntry, from: number, to: number): void {
    for (let at = 0; at < entry.fields.length; at += 1) {
      const { list, index } = entry.fields[at] as KeyEntry['fields'][number];
      const fields = this.#fields[list] as Int32Array;
      fields[index * 2] = from;
      fields[index * 2 + 1] = to;
    }
  }

  /** An object, or a text of JSON that says one. */
  #object(json: Buffer, from: number, { object }: KeyEntry): number {
    if (json[from] !== quote) {
      // Nothing, where nothing is needed: the same as no member.
      const end = this.#table.objects[object]?.isNeeded === false ? nullEnd(json, from) : notCanonical;
      return end < 0 ? this.#walk(json, from, object) : end;
    }
    if (this.#table.objects[object]?.mayBeText !== true || json !== this.#copy) return notCanonical;
    if (this.#table.objects[object]?.mayBeEmpty === true && json[from + 1] === quote) return from + 2;
    const start = this.#copied;
    const { read, written } = unescapeText(json, from, start);
    if (read < 0) return notCanonical;
    json[written] = newline;
    this.#copied = written + 1;
    return this.#walk(json, start, object) === written ? read : notCanonical;
  }

  #addFields(): boolean {
    const { json } = this;
    for (let list = 0; list < this.#fields.length; list += 1) {
      const spans = this.#fields[list] as Int32Array;
      const { fields = [], areTexts, areNeeded, only } = this.#table.lists[list] as CompiledList;
      if (only !== undefined && !this.#isMember(only.member, only.is)) continue;
      for (let index = 0; index < fields.length; index += 1) {
        const entry = fields[index] as KeyMeaning;
        const from = spans[index * 2] as number;
        const to = spans[index * 2 + 1] as number;
        if (from < 0 || isNothing(json, from, to, entry)) {
          if (areNeeded) return false;
          continue;
        }
        if (entry.isOdd || (areTexts && !isFullText(json, from)) || !this.#item(list, entry, -1, from, to))
          return false;
      }
    }
    return true;
  }

  #isMember(member: number, is: Buffer): boolean {
    const from = this.memberFrom(member);
    return from >= 0 && this.memberTo(member) - from === is.length && sameBytes(is, 0, this.json, from, is.length);
  }

  #item(list: number, entry: KeyMeaning, key: number, from: number, to: number): boolean {
    const added = this.items.add(list, entry, key, from, to);
    if (added === 'odd') return false;
    if (entry.isOfPerson) this.isOfPerson = true;
    const bytes = entry.output.length + to - from + 1;
    this.bytes += bytes;
    if (entry.property >= 0 && added === 'written') {
      this.#properties[entry.property * 2] = from;
      this.#properties[entry.property * 2 + 1] = to;
      this.bytes += bytes;
    }
    if (entry.heard !== undefined && added === 'written') this.heard.push(entry.heard);
    return true;
  }
}

/** An object of which members are looked at, and which is taken whole as well. */
function isLookedInto({ object, group, list, member, fields }: KeyEntry): boolean {
  return object >= 0 && ((list >= 0 && group === undefined) || member >= 0 || fields.length > 0);
}

function endOfValue(json: Buffer, from: number): number {
  const end = json[from] === quote ? plainTextEnd(json, from) : notCanonical;
  return end < 0 ? valueEnd(json, from) : end;
}

/** Where null ends, if it stands there. */
function nullEnd(json: Buffer, from: number): number {
  return json[from] === 0x6e ? endOfValue(json, from) : notCanonical;
}

/** A text that begins with a letter, digit or sign of ASCII, so that it is not blank. */
function isFullText(json: Buffer, from: number): boolean {
  const first = json[from + 1] as number;
  return json[from] === quote && first > 0x20 && first < 0x7f && first !== quote && first !== backslash;
}

function isNothing(json: Buffer, from: number, to: number, { nothing }: KeyMeaning): boolean {
  for (let at = 0; at < nothing.length; at += 1) {
    const value = nothing[at] as Buffer;
    if (value.length === to - from && sameBytes(value, 0, json, from, to - from)) return true;
  }
  return false;
}
