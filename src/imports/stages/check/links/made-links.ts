import { readUuidWords } from '../../../../base/uuid-words.ts';
import { createFirstValues } from '../rows/first-values.ts';

/** Links that the reader of a segment made and a transform looked at, in their order; structured clone. */
export interface MadeLinks {
  readonly uuids: readonly string[];
  /** Their times, µs since the epoch. */
  readonly micros: readonly number[];
  /** What they became: links that became the same have the same number. */
  readonly became: readonly number[];
}

/** A link counts on its own and not as one of several that are the same: it was rejected, say. */
export const apart = 0;

/** Times of a link in the segments before, µs since the epoch. */
export interface KnownLink {
  readonly earliest: number;
  readonly latest: number;
}

/**
 * Links of all segments so far. Segments that are checked side by side make the same link once each, of which one stays, unless the
 * code of a transform makes different things of them, which may follow from their times. Then only those may be made that are made where one
 * segment follows the other.
 */
export interface MadeLinksSum {
  /** What a segment with these would have had to know. */
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
