/** Numbers between 0 and 1, the same for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What a generator of records draws from. */
export interface Draw {
  readonly int: (below: number) => number;
  readonly pick: <T>(values: readonly T[]) => T;
  /** True in this share of the calls. */
  readonly chance: (share: number) => boolean;
  readonly hex: (length: number) => string;
  readonly uuid: () => string;
}

/** Whose record has this number: so many in a row are of one visit of one of so many people. */
export function drawVisitors(draw: Draw, people: number, recordsPerVisit: number): (index: number) => number {
  let visitor = 0;
  return (index) => {
    if (index % recordsPerVisit === 0) visitor = draw.int(people);
    return visitor;
  };
}

export function createDraw(seed: number): Draw {
  const random = seededRandom(seed);
  const int = (below: number): number => Math.floor(random() * below);
  const hex = (length: number): string => Array.from({ length }, () => int(16).toString(16)).join('');
  return {
    int,
    pick: (values) => {
      const value = values[int(values.length)];
      if (value === undefined) throw new Error('nothing to pick from');
      return value;
    },
    chance: (share) => random() < share,
    hex,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  };
}
