/**
 * A set of 64-bit keys, some 12 bytes each, outside the heap. With what to expect given it never grows; without, it
 * doubles.
 */
export interface KeySet {
  /** False: it was there already. */
  add(low: number, high: number): boolean;
  readonly size: number;
}

const fillMax = 0.7;

export function createKeySet(expected = 1024): KeySet {
  let slots = powerAbove(expected / fillMax);
  let table = new Uint32Array(slots * 2);
  let size = 0;
  let hasZero = false;
  const grow = (): void => {
    const old = table;
    slots *= 2;
    table = new Uint32Array(slots * 2);
    for (let at = 0; at < old.length; at += 2) {
      const low = old[at] as number;
      const high = old[at + 1] as number;
      if ((low | high) !== 0) put(table, slots, low, high);
    }
  };
  return {
    add: (low, high) => {
      // An empty slot is two zeros, so that key is kept apart.
      if ((low | high) === 0) {
        if (hasZero) return false;
        hasZero = true;
        size += 1;
        return true;
      }
      if (!put(table, slots, low >>> 0, high >>> 0)) return false;
      size += 1;
      if (size > slots * fillMax) grow();
      return true;
    },
    get size() {
      return size;
    },
  };
}

function put(table: Uint32Array, slots: number, low: number, high: number): boolean {
  let slot = low & (slots - 1);
  for (;;) {
    const at = slot * 2;
    const foundLow = table[at] as number;
    const foundHigh = table[at + 1] as number;
    if ((foundLow | foundHigh) === 0) {
      table[at] = low;
      table[at + 1] = high;
      return true;
    }
    if (foundLow === low && foundHigh === high) return false;
    slot = (slot + 1) & (slots - 1);
  }
}

function powerAbove(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(16, count + 1)));
}
