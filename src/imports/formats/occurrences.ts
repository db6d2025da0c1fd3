/**
 * Counts how often an id has come, in little memory: 16 bytes a slot outside the heap (about 30 bytes per distinct id)
 * instead of a few hundred for a Map of strings, so that an archive of many million messages can be read in one go.
 *
 * An id is given as the UUID derived from it: 122 bits of SHA-1, which no archive is large enough to confuse.
 */
export interface Occurrences {
  /** 1 at the first call with this UUID (36 characters), 2 at the second, and so on. */
  next(uuid: string): number;
}

const wordsPerSlot = 4;

export function createOccurrences(slotsAtFirst = 1024): Occurrences {
  let slots = slotsAtFirst;
  let table = new Uint32Array(slots * wordsPerSlot);
  let used = 0;
  /** Only ids that came more than once. */
  const repeated = new Map<string, number>();
  const key = new Uint32Array(wordsPerSlot);

  const grow = (): void => {
    const old = table;
    slots *= 2;
    table = new Uint32Array(slots * wordsPerSlot);
    for (let at = 0; at < old.length; at += wordsPerSlot) {
      if (old[at + 1] !== 0) table.set(old.subarray(at, at + wordsPerSlot), find(table, slots, old, at));
    }
  };

  return {
    next(uuid) {
      readWords(uuid, key);
      const at = find(table, slots, key, 0);
      if (table[at + 1] === 0) {
        table.set(key, at);
        used += 1;
        if (used > slots * 0.6) grow();
        return 1;
      }
      const count = (repeated.get(uuid) ?? 1) + 1;
      repeated.set(uuid, count);
      return count;
    },
  };
}

/** Where the four words stand in the table, or the free slot where they belong. */
function find(table: Uint32Array, slots: number, words: Uint32Array, from: number): number {
  let slot = (words[from] ?? 0) % slots;
  for (;;) {
    const at = slot * wordsPerSlot;
    // The second word holds the version of the UUID and is therefore never 0 in a used slot.
    if (table[at + 1] === 0) return at;
    if (sameWords(table, at, words, from)) return at;
    slot = (slot + 1) % slots;
  }
}

function sameWords(table: Uint32Array, at: number, words: Uint32Array, from: number): boolean {
  for (let word = 0; word < wordsPerSlot; word += 1) if (table[at + word] !== words[from + word]) return false;
  return true;
}

function readWords(uuid: string, words: Uint32Array): void {
  const hex = uuid.replaceAll('-', '');
  for (let word = 0; word < wordsPerSlot; word += 1)
    words[word] = Number.parseInt(hex.slice(word * 8, word * 8 + 8), 16);
}
