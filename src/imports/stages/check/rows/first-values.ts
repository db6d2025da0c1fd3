/** Stores the first value of each 64-bit key, a whole number below 2^32, in about 17 bytes per key. */
export interface FirstValues {
  /** Returns the first value of the key, `value` if the key is new; `undefined` if there is no room for a new key. */
  firstOf(low: number, high: number, value: number): number | undefined;
  get(low: number, high: number): number | undefined;
}

const wordsPerSlot = 3;
const fillMax = 0.7;

export function createFirstValues(sizeMax: number): FirstValues {
  let slots = 1024;
  let table = new Uint32Array(slots * wordsPerSlot);
  let size = 0;
  const grow = (): void => {
    const old = table;
    slots *= 2;
    table = new Uint32Array(slots * wordsPerSlot);
    for (let at = 0; at < old.length; at += wordsPerSlot) {
      const high = old[at + 1] as number;
      if (high !== 0) table.set(old.subarray(at, at + wordsPerSlot), find(table, slots, old[at] as number, high));
    }
  };
  return {
    get: (low, high) => {
      const at = find(table, slots, low, stored(high));
      return table[at + 1] === 0 ? undefined : table[at + 2];
    },
    firstOf: (low, givenHigh, value) => {
      const high = stored(givenHigh);
      const at = find(table, slots, low, high);
      if (table[at + 1] !== 0) return table[at + 2];
      if (size >= sizeMax) return undefined;
      table[at] = low;
      table[at + 1] = high;
      table[at + 2] = value;
      size += 1;
      if (size > slots * fillMax) grow();
      return value;
    },
  };
}

/** A zero marks a free slot. */
function stored(high: number): number {
  return high === 0 ? 1 : high;
}

function find(table: Uint32Array, slots: number, low: number, high: number): number {
  let slot = low & (slots - 1);
  for (;;) {
    const at = slot * wordsPerSlot;
    const found = table[at + 1] as number;
    if (found === 0 || (found === high && table[at] === low)) return at;
    slot = (slot + 1) & (slots - 1);
  }
}
