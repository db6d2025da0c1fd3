import type { CompiledTable } from './compiled-table.ts';
import type { KeyMeaning } from './key-table.ts';
import { nameNumbersMax } from './name-numbers.ts';

/** Members of a record that are written, list by list. */
export interface ItemLists {
  /** Begins with the next record. */
  clear(): void;
  /** What becomes of a value. `key`: where its key begins; -1: elsewhere. */
  add(list: number, entry: KeyMeaning, key: number, from: number, to: number): Added;
  /** Marks a name as had; false: it was. */
  claim(name: number): boolean;
  isClaimed(name: number): boolean;
  readonly lists: readonly ItemSpans[];
}

/** `lost`: a later list says something else. `odd`: two say something, and only the reader knows what it means. */
export type Added = 'written' | 'lost' | 'odd';

export interface ItemSpans {
  count: number;
  readonly entries: KeyMeaning[];
  /** Start of the key, start and end of the value; a value that starts at -1 has gone elsewhere. */
  readonly key: Int32Array;
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** List that the value comes from. */
  readonly by: Int32Array;
}

const itemsMax = 1024;
/** An item's place as one number. */
const placesPerList = itemsMax;

export function createItemLists(table: CompiledTable): ItemLists {
  return new Lists(table);
}

class Lists implements ItemLists {
  readonly lists: readonly ItemSpans[];
  readonly #table: CompiledTable;
  /** Number of the record that had a name last, and the place of its item there. */
  readonly #had = new Int32Array(nameNumbersMax);
  readonly #place = new Int32Array(nameNumbersMax);
  #record = 0;

  constructor(table: CompiledTable) {
    this.#table = table;
    this.lists = table.lists.map(emptyItems);
  }

  clear(): void {
    this.#record = (this.#record + 1) | 0;
    for (const items of this.lists) items.count = 0;
  }

  claim(name: number): boolean {
    if (name < 0 || this.#had[name] === this.#record) return false;
    this.#had[name] = this.#record;
    this.#place[name] = -1;
    return true;
  }

  isClaimed(name: number): boolean {
    return this.#had[name] === this.#record;
  }

  add(list: number, entry: KeyMeaning, key: number, from: number, to: number): Added {
    const { name } = entry;
    if (name < 0) return 'odd';
    if (this.#had[name] !== this.#record) {
      this.#had[name] = this.#record;
      return this.#append(list, entry, { key, from, to, by: list }) ? 'written' : 'odd';
    }
    return this.#merge(list, entry, this.#place[name] as number, { key, from, to, by: list });
  }

  #append(list: number, entry: KeyMeaning, { key, from, to, by }: Item): boolean {
    const items = this.lists[list] as ItemSpans;
    const { count } = items;
    if (count === itemsMax) return false;
    items.entries[count] = entry;
    items.key[count] = key;
    items.from[count] = from;
    items.to[count] = to;
    items.by[count] = by;
    items.count = count + 1;
    this.#place[entry.name] = list * placesPerList + count;
    return true;
  }

  /** The item stands where the earlier list has it, and says what the later one says. */
  #merge(list: number, entry: KeyMeaning, place: number, item: Item): Added {
    if (place < 0) return 'odd';
    const other = Math.floor(place / placesPerList);
    const index = place % placesPerList;
    const items = this.lists[other] as ItemSpans;
    const by = items.by[index] as number;
    // Two keys that become one name are the reader's to tell apart.
    const isSame = entry.isKept && (items.entries[index] as KeyMeaning).isKept;
    if (other === list || by === list || !isSame || !(this.#table.lists[Math.max(other, list)]?.wins ?? false))
      return 'odd';
    if (list > other) {
      if (list < by) return 'lost';
      items.key[index] = -1;
      items.from[index] = item.from;
      items.to[index] = item.to;
      items.by[index] = list;
      return 'written';
    }
    const kept = { key: -1, from: items.from[index] as number, to: items.to[index] as number, by };
    items.from[index] = -1;
    return this.#append(list, entry, kept) ? 'lost' : 'odd';
  }
}

interface Item {
  readonly key: number;
  readonly from: number;
  readonly to: number;
  readonly by: number;
}

function emptyItems(): ItemSpans {
  const column = (): Int32Array => new Int32Array(itemsMax);
  return { count: 0, entries: [], key: column(), from: column(), to: column(), by: column() };
}
