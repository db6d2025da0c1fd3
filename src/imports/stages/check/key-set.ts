/**
 * A set of 64-bit keys, each with the value that first came with it (a whole number below 2^32), some 17 bytes each, outside the heap.
 * With what to expect given it never grows; without, it doubles.
 */
export interface KeySet {
  /** Adds a key. The value that came with it first; undefined: the key is new. */
  add(low: number, high: number, value: number): number | undefined;
  readonly size: number;
}

const fillMax = 0.7;
const wordsPerSlot = 3;

export function createKeySet(expected = 1024): KeySet {
  let slots = powerAbove(expected / fillMax);
  let table = new Uint32Array(slots * wordsPerSlot);
  let size = 0;
  let zero: number | undefined;
  const grow = (): void => {
    const old = table;
    slots *= 2;
    table = new Uint32Array(slots * wordsPerSlot);
    for (let at = 0; at < old.length; at += wordsPerSlot) {
      const low = old[at] as number;
      const high = old[at + 1] as number;
      if ((low | high) !== 0) put(table, slots, low, high, old[at + 2] as number);
    }
  };
  return {
    add: (low, high, value) => {
      // An empty slot is two zeros, so that key is kept apart.
      const first = (low | high) === 0 ? zero : put(table, slots, low >>> 0, high >>> 0, value);
      if (first !== undefined) return first;
      if ((low | high) === 0) zero = value;
      size += 1;
      if (size > slots * fillMax) grow();
      return undefined;
    },
    get size() {
      return size;
    },
  };
}

function put(table: Uint32Array, slots: number, low: number, high: number, value: number): number | undefined {
  let slot = low & (slots - 1);
  for (;;) {
    const at = slot * wordsPerSlot;
    const foundLow = table[at] as number;
    const foundHigh = table[at + 1] as number;
    if ((foundLow | foundHigh) === 0) {
      table[at] = low;
      table[at + 1] = high;
      table[at + 2] = value;
      return undefined;
    }
    if (foundLow === low && foundHigh === high) return table[at + 2];
    slot = (slot + 1) & (slots - 1);
  }
}

function powerAbove(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(16, count + 1)));
}
