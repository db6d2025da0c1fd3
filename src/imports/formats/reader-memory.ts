import { createOccurrences, type IdCounter, type Occurrences } from './occurrences.ts';

/**
 * The state that a reader keeps across records, and the only reason its results depend on their order. Pieces that are read in
 * parallel each get a memory whose contents can be combined (stages/check/segment-memory.ts).
 */
export interface ReaderMemory {
  /** Creates a counter that counts across the run, or from 1 in each file. */
  occurrences(within: Within): IdCounter;
  /** Events that the reader derives from many records, with those already created. */
  readonly links: Links;
  /** Records that a link was excluded after reading. Returns whether this is the first time, since it counts once. */
  exclude(uuid: string, reason: string): boolean;
}

/** The scope in which equal ids are counted. */
export type Within = 'run' | 'file';

export interface Links {
  /**
   * Whether a link is the first with this UUID (derived from the ids it links), or the earliest so far; the check keeps the
   * earliest. `micros`: µs since the epoch, if the time of a link matters.
   */
  isNew(uuid: string, micros?: number): boolean;
  /** Like `isNew`, for the latest. Only for events whose name is in `latestStay`. */
  isLatest(uuid: string, micros: number): boolean;
  /** Whether a link with this UUID was created. */
  has(uuid: string): boolean;
}

/** Names of derived events of which the latest is kept; of others, the earliest is. */
export const latestStay: ReadonlySet<string> = new Set(['$groupidentify']);

/** Creates a memory for all records of a reader. */
export function createReaderMemory(): ReaderMemory {
  return { occurrences: () => createOccurrences(), links: createLinks(), exclude: createExcludedLinks().add };
}

/** For a reader that treats each record on its own. */
export const noMemory: ReaderMemory = {
  occurrences: () => ({ next: () => 1 }),
  links: { isNew: () => true, isLatest: () => true, has: () => false },
  exclude: () => true,
};

/** `before`: times of earlier links, µs since the epoch. */
export function createLinks(
  before: ReadonlyMap<string, { readonly earliest: number; readonly latest: number }> = new Map(),
): Links {
  const earliest = new Map<string, number>();
  const latest = new Map<string, number>();
  return {
    isNew: (uuid, micros = Infinity) => {
      const known = earliest.get(uuid) ?? before.get(uuid)?.earliest;
      if (known !== undefined && micros >= known) return false;
      earliest.set(uuid, micros);
      return true;
    },
    isLatest: (uuid, micros) => {
      const known = latest.get(uuid) ?? before.get(uuid)?.latest;
      if (known !== undefined && micros <= known) return false;
      latest.set(uuid, micros);
      return true;
    },
    has: (uuid) => earliest.has(uuid) || latest.has(uuid),
  };
}

/** Excluded links by reason; about 35 bytes each. */
interface ExcludedLinks {
  /** Whether it is the first time. */
  add(uuid: string, reason: string): boolean;
  list(): readonly (readonly [reason: string, links: Occurrences])[];
}

export function createExcludedLinks(): ExcludedLinks {
  const byReason = new Map<string, Occurrences>();
  return {
    add: (uuid, reason) => {
      const known = byReason.get(reason) ?? createOccurrences();
      byReason.set(reason, known);
      return known.next(uuid) === 1;
    },
    list: () => [...byReason],
  };
}
