import { crc32 } from 'node:zlib';
import { createFirstValues } from '../check/first-values.ts';

/** Ids that merges name together, directly or through others, by their CRC-32; some 40 bytes an id. */
export interface Components {
  unite(one: string, other: string): void;
  /** Pairs of an id's CRC-32 and its component, from 1 on: the smallest CRC-32 in it, whatever the order of `unite`. */
  pairs(pairsMax: number): Generator<Uint32Array>;
}

export function createComponents(): Components {
  const numbers = createFirstValues(Infinity);
  let hashes = new Uint32Array(1024);
  let parents = new Uint32Array(1024);
  let size = 0;

  const numberOf = (id: string): number => {
    const hash = crc32(id);
    const number = numbers.firstOf(hash, 1, size) as number;
    if (number < size) return number;
    if (size === hashes.length) [hashes, parents] = [doubled(hashes), doubled(parents)];
    hashes[size] = hash;
    parents[size] = size;
    size += 1;
    return number;
  };
  const rootOf = (number: number): number => {
    let at = number;
    for (let parent = parents[at] as number; parent !== at; parent = parents[at] as number) {
      at = parents[at] = parents[parent] as number;
    }
    return at;
  };

  return {
    unite: (one, other) => {
      const [first, second] = [rootOf(numberOf(one)), rootOf(numberOf(other))];
      if ((hashes[first] as number) < (hashes[second] as number)) parents[second] = first;
      else parents[first] = second;
    },
    *pairs(pairsMax) {
      for (let from = 0; from < size; from += pairsMax) {
        const count = Math.min(pairsMax, size - from);
        const pairs = new Uint32Array(2 * count);
        for (let at = 0; at < count; at += 1) {
          pairs[2 * at] = hashes[from + at] as number;
          pairs[2 * at + 1] = (hashes[rootOf(from + at)] as number) || 1;
        }
        yield pairs;
      }
    },
  };
}

function doubled(words: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(2 * words.length);
  more.set(words);
  return more;
}
