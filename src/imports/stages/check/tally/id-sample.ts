import type { Words } from '../rows/event-keys.ts';

/**
 * Counts different ids: exactly as long as they fit, then by a sample of all hashes whose last bits are zero (error about 1 %). Samples of
 * segments merge into the sample of the whole.
 */
export interface IdSample {
  add(hash: Words): void;
  merge(saved: SavedIds): void;
  readonly estimate: number;
  /** Whether the estimate is the exact number. */
  readonly isExact: boolean;
  save(): SavedIds;
}

/** JSON. `level` is the number of bits that must be zero; `hashes` has 8 bytes each, base64. */
export interface SavedIds {
  readonly level: number;
  readonly hashes: string;
}

const hashBytes = 8;

export function createIdSample(sizeMax = 8192): IdSample {
  let level = 0;
  let kept = createHashes(sizeMax);
  const rise = (to: number): void => {
    level = to;
    const before = kept.list();
    kept = createHashes(sizeMax);
    for (const hash of before) if (isInSample(hash, level)) kept.add(hash);
  };
  const keep = (hash: number): void => {
    kept.add(hash);
    while (kept.size > sizeMax) rise(level + 1);
  };
  return {
    add: ({ low, high }) => {
      // The last bits of `low` decide, which are the last bits of the number too.
      if (level > 0 && low % 2 ** Math.min(level, 32) !== 0) return;
      const hash = (high & 0x1fffff) * 2 ** 32 + low;
      if (isInSample(hash, level)) keep(hash);
    },
    merge: (saved) => {
      if (saved.level > level) rise(saved.level);
      const bytes = Buffer.from(saved.hashes, 'base64');
      for (let at = 0; at < bytes.length; at += hashBytes) {
        const hash = bytes.readDoubleLE(at);
        if (isInSample(hash, level)) keep(hash);
      }
    },
    get estimate() {
      return kept.size * 2 ** level;
    },
    get isExact() {
      return level === 0;
    },
    save: () => {
      const bytes = Buffer.alloc(kept.size * hashBytes);
      let at = 0;
      for (const hash of kept.list().sort()) at = bytes.writeDoubleLE(hash, at);
      return { level, hashes: bytes.toString('base64') };
    },
  };
}

function isInSample(hash: number, level: number): boolean {
  return level === 0 || hash % 2 ** level === 0;
}

/** A set of hashes outside the heap: integers of 53 bits. */
interface Hashes {
  readonly size: number;
  add(hash: number): void;
  list(): Float64Array;
}

const free = -1;

/** Holds at most one more than `sizeMax`. */
function createHashes(sizeMax: number): Hashes {
  const slots = 2 ** Math.ceil(Math.log2((sizeMax + 1) * 2));
  const table = new Float64Array(slots).fill(free);
  let size = 0;
  return {
    get size() {
      return size;
    },
    add: (hash) => {
      // The upper bits choose the slot, because the lower ones of a sample are zero.
      let slot = Math.floor(hash / 2 ** 32) & (slots - 1);
      for (; table[slot] !== free; slot = (slot + 1) & (slots - 1)) if (table[slot] === hash) return;
      table[slot] = hash;
      size += 1;
    },
    list: () => table.filter((hash) => hash !== free),
  };
}
