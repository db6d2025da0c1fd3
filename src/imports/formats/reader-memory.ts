import { createOccurrences, type IdCounter, type Occurrences } from './occurrences.ts';

/**
 * What a reader remembers of the records before: all by which its answers depend on their order. Whoever reads records in pieces,
 * side by side, gives each piece a memory that can be added up (stages/check/segment-memory.ts).
 */
export interface ReaderMemory {
  /** Each call makes a table of its own, which counts in the whole run, or from 1 on in each file. */
  occurrences(within: Within): IdCounter;
  /** Events that the reader makes once of what many records say, and those that were made already. */
  readonly links: Links;
  /** A link that the reader made is left out after it; whether for the first time, for it counts once. */
  leaveOut(uuid: string, reason: string): boolean;
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

/** Of all records that the reader gets. */
export function createReaderMemory(): ReaderMemory {
  return { occurrences: () => createOccurrences(), links: createLinks(), leaveOut: createLeftOutLinks().add };
}

/** For a reader that shall say of each record what that says itself. */
export const noMemory: ReaderMemory = {
  occurrences: () => ({ next: () => 1 }),
  links: { isNew: () => true, isLatest: () => true, has: () => false },
  leaveOut: () => true,
};

/** `before`: times of those that were made before this one begins, µs since the epoch. */
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

/** Links that were left out, by reason; some 35 bytes each. */
interface LeftOutLinks {
  /** Whether it is the first time. */
  add(uuid: string, reason: string): boolean;
  list(): readonly (readonly [reason: string, links: Occurrences])[];
}

export function createLeftOutLinks(): LeftOutLinks {
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
