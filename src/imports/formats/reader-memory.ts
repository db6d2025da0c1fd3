import { createOccurrences, type IdCounter } from './occurrences.ts';

/**
 * What a reader remembers of the records before: all by which its answers depend on their order. Whoever reads records in pieces,
 * side by side, gives each piece a memory that can be added up (stages/check/segment-memory.ts).
 */
export interface ReaderMemory {
  /** Each call makes a table of its own, which counts in the whole run, or from 1 on in each file. */
  occurrences(within: Within): IdCounter;
  /** Events that the reader makes once of what many records say, and those that were made already. */
  readonly links: Links;
}

/** Of what the same ids are counted. */
export type Within = 'run' | 'file';

export interface Links {
  /**
   * Whether it is the first one with this UUID, which follows from what it ties together, or the earliest so far, of which the check
   * keeps one. `micros`: µs since the epoch, if the time of a link matters.
   */
  isNew(uuid: string, micros?: number): boolean;
  /** The same for the latest so far, of which the check keeps one. Only for events whose name is in `latestStay`. */
  isLatest(uuid: string, micros: number): boolean;
  /** Whether one with this UUID was made. */
  has(uuid: string): boolean;
}

/** Names of made events of which the latest stays; of others the earliest does. */
export const latestStay: ReadonlySet<string> = new Set(['$groupidentify']);

/** Of all records that the reader gets. `file`: who moves on to another file, raises its number. */
export function createReaderMemory(file: { readonly number: number } = { number: 0 }): ReaderMemory {
  return {
    occurrences: (within) => (within === 'run' ? createOccurrences() : countedInFile(file)),
    links: createLinks(),
  };
}

export function createLinks(): Links {
  const earliest = new Map<string, number>();
  const latest = new Map<string, number>();
  return {
    isNew: (uuid, micros = Infinity) => {
      const known = earliest.get(uuid);
      if (known !== undefined && micros >= known) return false;
      earliest.set(uuid, micros);
      return true;
    },
    isLatest: (uuid, micros) => {
      const known = latest.get(uuid);
      if (known !== undefined && micros <= known) return false;
      latest.set(uuid, micros);
      return true;
    },
    has: (uuid) => earliest.has(uuid) || latest.has(uuid),
  };
}

function countedInFile(file: { readonly number: number }): IdCounter {
  const counted = createOccurrences();
  let { number } = file;
  return {
    next: (uuid) => {
      if (number !== file.number) counted.clear();
      number = file.number;
      return counted.next(uuid);
    },
  };
}
