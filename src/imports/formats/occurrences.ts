import { readUuidWords } from '../../base/uuid-words.ts';

/**
 * Counts occurrences of ids in little memory: 20 bytes a slot outside the heap (about 35 bytes per distinct id) instead of a few
 * hundred in a Map of strings, so that an archive of many million messages can be read in one pass.
 * An id is given as the UUID derived from it: 122 bits of SHA-1, which no archive is large enough to confuse.
 */
export interface Occurrences extends IdCounter {
  /** Returns the count so far. */
  countOf(uuid: string): number;
  /** Resets all counts. */
  clear(): void;
  /** Returns all ids with their counts: `wordsPerId` words each. */
  save(): Uint32Array;
  /** Adds saved counts. */
  merge(saved: Uint32Array): void;
  /** Returns the count here of the id at an offset of saved counts. */
  countAt(saved: Uint32Array, at: number): number;
}

export interface IdCounter {
  /** Returns 1 at the first call with this UUID (36 characters), 2 at the second, and so on. */
  next(uuid: string): number;
}

/** Four words of the id, and the count. */
export const wordsPerId = 5;
const countWord = 4;

export function createOccurrences(slotsAtFirst = 1024): Occurrences {
  let slots = slotsAtFirst;
  let table = new Uint32Array(slots * wordsPerId);
  let used = 0;
  const key = new Uint32Array(wordsPerId);

  const grow = (): void => {
    const old = table;
    slots *= 2;
    table = new Uint32Array(slots * wordsPerId);
    for (let at = 0; at < old.length; at += wordsPerId) {
      if (old[at + 1] !== 0) copyWords(old, at, table, find(table, slots, old, at), wordsPerId);
    }
  };
  const add = (words: Uint32Array, from: number, count: number): number => {
    const at = find(table, slots, words, from);
    const isNew = table[at + 1] === 0;
    if (isNew) {
      copyWords(words, from, table, at, countWord);
      used += 1;
    }
    const total = (table[at + countWord] as number) + count;
    table[at + countWord] = total;
    if (isNew && used > slots * 0.6) grow();
    return total;
  };

  return {
    next(uuid) {
      readUuidWords(uuid, key);
      return add(key, 0, 1);
    },
    countOf(uuid) {
      readUuidWords(uuid, key);
      return table[find(table, slots, key, 0) + countWord] as number;
    },
    clear() {
      if (used === 0) return;
      slots = slotsAtFirst;
      table = new Uint32Array(slots * wordsPerId);
      used = 0;
    },
    save() {
      const saved = new Uint32Array(used * wordsPerId);
      let to = 0;
      for (let at = 0; at < table.length; at += wordsPerId) {
        if (table[at + 1] === 0) continue;
        copyWords(table, at, saved, to, wordsPerId);
        to += wordsPerId;
      }
      return saved;
    },
    merge(saved) {
      for (let at = 0; at < saved.length; at += wordsPerId) add(saved, at, saved[at + countWord] as number);
    },
    countAt: (saved, at) => table[find(table, slots, saved, at) + countWord] as number,
  };
}

/** Returns the offset of the id in the table, or of its free slot. */
function find(table: Uint32Array, slots: number, words: Uint32Array, from: number): number {
  let slot = (words[from] ?? 0) % slots;
  for (;;) {
    const at = slot * wordsPerId;
    // The second word contains the version of the UUID and is never 0 in a used slot.
    if (table[at + 1] === 0) return at;
    if (sameWords(table, at, words, from)) return at;
    slot = (slot + 1) % slots;
  }
}

function sameWords(table: Uint32Array, at: number, words: Uint32Array, from: number): boolean {
  for (let word = 0; word < countWord; word += 1) if (table[at + word] !== words[from + word]) return false;
  return true;
}

/** So few words are copied faster one by one than through a view. */
function copyWords(from: Uint32Array, at: number, to: Uint32Array, place: number, count: number): void {
  for (let word = 0; word < count; word += 1) to[place + word] = from[at + word] as number;
}

/** Returns the UUID at an offset of saved counts. */
export function uuidAt(saved: Uint32Array, at: number): string {
  const words = Array.from({ length: countWord }, (_, word) =>
    (saved[at + word] as number).toString(16).padStart(8, '0'),
  );
  return words.join('').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
