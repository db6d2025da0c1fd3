/** Keys of 64 bits in halves, as numbers that move to another thread instead of being copied one by one. */
export interface KeyList {
  add(low: number, high: number): void;
  /** Low and high by turns. */
  save(): Uint32Array;
}

export function createKeyList(): KeyList {
  let words = new Uint32Array(1024);
  let used = 0;
  return {
    add: (low, high) => {
      if (used === words.length) {
        const larger = new Uint32Array(words.length * 2);
        larger.set(words);
        words = larger;
      }
      words[used] = low;
      words[used + 1] = high;
      used += 2;
    },
    save: () => words.slice(0, used),
  };
}
