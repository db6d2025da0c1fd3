import type { Words } from './event-keys.ts';

/**
 * How many different ids there are: exact as long as they fit, then by a sample of all hashes whose last bits are zero
 * (error about 1 %). Samples of pieces merge into the sample of the whole.
 */
export interface IdSample {
  add(hash: Words): void;
  merge(saved: SavedIds): void;
  readonly estimate: number;
  save(): SavedIds;
}

/** JSON. `level`: bits that have to be zero; `hashes`: 8 bytes each, base64. */
export interface SavedIds {
  readonly level: number;
  readonly hashes: string;
}

const hashBytes = 8;

export function createIdSample(sizeMax = 8192): IdSample {
  let level = 0;
  /** Of hashes as whole numbers of 53 bits. */
  let kept = new Set<number>();
  const keep = (hash: number): void => {
    kept.add(hash);
    while (kept.size > sizeMax) {
      level += 1;
      kept = new Set([...kept].filter((each) => isInSample(each, level)));
    }
  };
  return {
    add: ({ low, high }) => {
      // The last bits of `low` decide; they are the last ones of the number as well.
      if (level > 0 && low % 2 ** Math.min(level, 32) !== 0) return;
      const hash = (high & 0x1fffff) * 2 ** 32 + low;
      if (isInSample(hash, level)) keep(hash);
    },
    merge: (saved) => {
      if (saved.level > level) {
        level = saved.level;
        kept = new Set([...kept].filter((each) => isInSample(each, level)));
      }
      const bytes = Buffer.from(saved.hashes, 'base64');
      for (let at = 0; at < bytes.length; at += hashBytes) {
        const hash = bytes.readDoubleLE(at);
        if (isInSample(hash, level)) keep(hash);
      }
    },
    get estimate() {
      return kept.size * 2 ** level;
    },
    save: () => {
      const bytes = Buffer.alloc(kept.size * hashBytes);
      let at = 0;
      for (const hash of [...kept].toSorted((a, b) => a - b)) at = bytes.writeDoubleLE(hash, at);
      return { level, hashes: bytes.toString('base64') };
    },
  };
}

function isInSample(hash: number, level: number): boolean {
  return level === 0 || hash % 2 ** level === 0;
}
