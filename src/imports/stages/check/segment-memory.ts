import { createOccurrences, uuidAt, wordsPerId, type Occurrences } from '../../formats/occurrences.ts';
import { createLinks, type ReaderMemory, type Within } from '../../formats/reader-memory.ts';

/**
 * What a reader remembers while it reads one segment alone, beside those that read the others, so that it can be added up in the
 * order of segments. Links are made once in each segment; which of them stay is found afterwards (repeated-links.ts). Counted ids
 * are taken for the first ones unless it is known otherwise (`Before`).
 */
export interface SegmentMemory extends ReaderMemory {
  handOver(): SegmentMemories;
}

/** Structured clone. */
export interface SegmentMemories {
  /** Of each table that the reader made, what it counted (`Occurrences.save`), and within what. */
  readonly counted: readonly { readonly within: Within; readonly saved: Uint32Array }[];
}

/** What the segments before have counted. */
export interface Before {
  count(table: number, uuid: string): number;
}

/** The same for what one segment asks; structured clone. */
export interface KnownBefore {
  readonly counts: readonly ReadonlyMap<string, number>[];
}

const nothing: Before = { count: () => 0 };

export function createSegmentMemory(before = nothing): SegmentMemory {
  const tables: { readonly within: Within; readonly own: Occurrences }[] = [];
  return {
    occurrences: (within) => {
      const own = createOccurrences();
      const table = tables.push({ within, own }) - 1;
      return { next: (uuid) => before.count(table, uuid) + own.next(uuid) };
    },
    links: createLinks(),
    handOver: () => ({ counted: tables.map(({ within, own }) => ({ within, saved: own.save() })) }),
  };
}

export function beforeOf({ counts }: KnownBefore): Before {
  return { count: (table, uuid) => counts[table]?.get(uuid) ?? 0 };
}

/** What all segments so far have counted. */
export interface MemorySum extends Before {
  /** What of it a segment would have had to know; undefined: nothing. */
  known(memories: SegmentMemories): KnownBefore | undefined;
  add(memories: SegmentMemories): void;
  /** The next segment is of another file. */
  startFile(): void;
}

export function createMemorySum(): MemorySum {
  const tables: { readonly within: Within; readonly sum: Occurrences }[] = [];
  return {
    count: (table, uuid) => tables[table]?.sum.countOf(uuid) ?? 0,
    known: (memories) => {
      const counts = memories.counted.map(({ saved }, index) => countsOf(tables[index]?.sum, saved));
      return counts.every(({ size }) => size === 0) ? undefined : { counts };
    },
    add: (memories) => {
      for (const [index, { within, saved }] of memories.counted.entries()) {
        (tables[index] ??= { within, sum: createOccurrences() }).sum.merge(saved);
      }
    },
    startFile: () => {
      for (const { within, sum } of tables) if (within === 'file') sum.clear();
    },
  };
}

/** Of the ids that were saved, those that have come before. */
function countsOf(table: Occurrences | undefined, saved: Uint32Array): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  if (table === undefined) return counts;
  for (let at = 0; at < saved.length; at += wordsPerId) {
    const count = table.countAt(saved, at);
    if (count > 0) counts.set(uuidAt(saved, at), count);
  }
  return counts;
}
