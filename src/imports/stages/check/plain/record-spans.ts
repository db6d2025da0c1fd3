import type { CompiledTable } from './compiled-table.ts';
import { nameNumbers } from './compiled-table.ts';
import { notCanonical, plainTextEnd, quote, skipSpace, valueEnd } from './canonical-value.ts';
import type { KeyEntry, KeyTable } from './key-table.ts';

/** Where in a line its parts stand, found in one pass; the same object for every line. */
export interface RecordSpans {
  /** False: the record is odd. */
  read(json: Buffer, from: number, to: number): boolean;
  /** Marks a name as taken; false: it was. */
  claim(name: number): boolean;
  /** Start and end of a member's value; -1: it is not there. */
  memberFrom(member: number): number;
  memberTo(member: number): number;
  propertyFrom(property: number): number;
  propertyTo(property: number): number;
  readonly items: readonly ItemSpans[];
  /** Bytes that the properties need at most: what may be said of the person comes twice. */
  readonly bytes: number;
  /** Names of properties that somebody wants to hear. */
  readonly heard: readonly string[];
}

/** Members of a bag that become properties. */
export interface ItemSpans {
  count: number;
  readonly entries: KeyEntry[];
  /** Start of the key, start and end of the value. */
  readonly key: Int32Array;
  readonly from: Int32Array;
  readonly to: Int32Array;
}

const itemsMax = 1024;
const openObject = 0x7b;
const closeObject = 0x7d;
const comma = 0x2c;
const colon = 0x3a;

export function createRecordSpans(table: CompiledTable): RecordSpans {
  return new Spans(table);
}

class Spans implements RecordSpans {
  readonly items: readonly ItemSpans[];
  readonly heard: string[] = [];
  bytes = 0;
  readonly #table: CompiledTable;
  readonly #recordItems: ItemSpans | undefined;
  readonly #members: Int32Array;
  readonly #properties: Int32Array;
  /** Number of the record that took a name last. */
  readonly #taken = new Int32Array(nameNumbers);
  #record = 0;

  constructor(table: CompiledTable) {
    this.#table = table;
    this.items = table.bags.map(emptyItems);
    this.#recordItems = this.items[table.bags.indexOf(undefined)];
    this.#members = new Int32Array(table.members * 2);
    this.#properties = new Int32Array(table.properties * 2);
  }

  read(json: Buffer, from: number, to: number): boolean {
    this.#record = (this.#record + 1) | 0;
    this.#members.fill(-1);
    this.#properties.fill(-1);
    this.bytes = 0;
    if (this.heard.length > 0) this.heard.length = 0;
    for (const items of this.items) items.count = 0;
    const end = this.#walk(json, from, this.#table.record, this.#recordItems, 0);
    return end > 0 && end <= to && (end === to || skipSpace(json, end) >= to);
  }

  claim(name: number): boolean {
    if (this.#taken[name] === this.#record) return false;
    this.#taken[name] = this.#record;
    return true;
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
  #walk(json: Buffer, from: number, keys: KeyTable, items: ItemSpans | undefined, depth: number): number {
    if (json[from] !== openObject) return notCanonical;
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
      const end = this.#member(json, at, value, entry, items, depth);
      if (end < 0) return notCanonical;
      at = end;
      if (json[at] !== comma) at = skipSpace(json, at);
      if (json[at] === closeObject) return at + 1;
      if (json[at] !== comma) return notCanonical;
      at += 1;
      if (json[at] !== quote) at = skipSpace(json, at);
    }
  }

  #member(
    json: Buffer,
    key: number,
    from: number,
    entry: KeyEntry,
    items: ItemSpans | undefined,
    depth: number,
  ): number {
    if (!this.#claimOwn(entry)) return notCanonical;
    if (entry.bag >= 0) {
      const bag = depth === 0 ? this.#table.bags[entry.bag] : undefined;
      return bag === undefined ? notCanonical : this.#walk(json, from, bag, this.items[entry.bag], depth + 1);
    }
    let end = json[from] === quote ? plainTextEnd(json, from) : notCanonical;
    if (end < 0) end = valueEnd(json, from);
    if (end < 0) return notCanonical;
    if (entry.member >= 0) {
      this.#members[entry.member * 2] = from;
      this.#members[entry.member * 2 + 1] = end;
    }
    if (entry.output.length > 0) return this.#item(key, from, end, entry, items) ? end : notCanonical;
    return end;
  }

  #claimOwn({ first, second }: KeyEntry): boolean {
    const record = this.#record;
    if (this.#taken[first] === record) return false;
    this.#taken[first] = record;
    if (second === first) return true;
    if (this.#taken[second] === record) return false;
    this.#taken[second] = record;
    return true;
  }

  #item(key: number, from: number, to: number, entry: KeyEntry, items: ItemSpans | undefined): boolean {
    if (items === undefined || items.count === itemsMax) return false;
    const { count } = items;
    items.entries[count] = entry;
    items.key[count] = key;
    items.from[count] = from;
    items.to[count] = to;
    items.count = count + 1;
    const bytes = entry.output.length + to - from + 1;
    this.bytes += bytes;
    if (entry.property >= 0) {
      this.#properties[entry.property * 2] = from;
      this.#properties[entry.property * 2 + 1] = to;
      this.bytes += bytes;
    }
    if (entry.heard !== undefined) this.heard.push(entry.heard);
    return true;
  }
}

function emptyItems(): ItemSpans {
  const column = (): Int32Array => new Int32Array(itemsMax);
  return { count: 0, entries: [], key: column(), from: column(), to: column() };
}
