import { readUuidWords } from '../../../../base/uuid-words.ts';
import { createFirstValues } from '../rows/first-values.ts';

/** Links that the reader of a segment created and a transform changed, in order; structured clone. */
export interface MadeLinks {
  readonly uuids: readonly string[];
  /** Their times, µs since the epoch. */
  readonly micros: readonly number[];
  /** Their outcomes: links with the same outcome have the same number. */
  readonly became: readonly number[];
}

/** The outcome of a link that is not compared with others, for example because it was rejected. */
export const apart = 0;

/** Times of a link in earlier segments, µs since the epoch. */
export interface KnownLink {
  readonly earliest: number;
  readonly latest: number;
}

/**
 * Links of all segments up to now. Segments that are checked in parallel create the same link once each, of which one stays, unless the
 * code of a transform changes them differently, which may depend on their times. Then only those may be created that sequential segments
 * would create.
 */
interface MadeLinksSum {
  /** Returns what a segment with these links should have known. */
  known(made: MadeLinks): ReadonlyMap<string, KnownLink>;
  add(made: MadeLinks): void;
}

export function createMadeLinksSum(): MadeLinksSum {
  const numbers = createFirstValues(Infinity);
  const words = new Uint32Array(4);
  const earliest: number[] = [];
  const latest: number[] = [];
  const became: number[] = [];
  const wordsOf = (uuid: string): readonly [low: number, high: number] => {
    readUuidWords(uuid, words);
    return [words[3] as number, words[0] as number];
  };
  return {
    known: (made) => {
      const known = new Map<string, KnownLink>();
      for (const [at, uuid] of made.uuids.entries()) {
        const number = numbers.get(...wordsOf(uuid));
        if (number === undefined || (became[number] !== apart && became[number] === made.became[at])) continue;
        known.set(uuid, { earliest: earliest[number] as number, latest: latest[number] as number });
      }
      return known;
    },
    add: (made) => {
      for (const [at, uuid] of made.uuids.entries()) {
        const micros = made.micros[at] as number;
        const number = numbers.firstOf(...wordsOf(uuid), earliest.length) ?? earliest.length;
        earliest[number] = Math.min(earliest[number] ?? Infinity, micros);
        latest[number] = Math.max(latest[number] ?? -Infinity, micros);
        became[number] = made.became[at] as number;
      }
    },
  };
}
