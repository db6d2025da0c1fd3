import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import { createOccurrences, uuidAt, wordsPerId, type Occurrences } from '../../../formats/occurrences.ts';
import { createExcludedLinks, createLinks, type ReaderMemory, type Within } from '../../../formats/reader-memory.ts';
import { countReason, type Sum } from '../tally/findings.ts';
import { createMadeLinksSum, type KnownLink, type MadeLinks } from '../links/made-links.ts';

/**
 * Memory of a reader that reads one segment alone, in parallel with others, so that it can be added up in the order of segments. Links are
 * created once in each segment; which of them stay is decided afterwards (repeated-links.ts). Counted ids count from 0 unless it is known
 * otherwise (`Before`).
 */
export interface SegmentMemory extends ReaderMemory {
  /** Records the outcome of a transform for a link; equal numbers mean equal outcomes. */
  became(link: WireEvent, what: number): void;
  handOver(): SegmentMemories;
}

/** Structured clone. */
export interface SegmentMemories {
  /** What each table of the reader counted (`Occurrences.save`), and within what. */
  readonly counted: readonly { readonly within: Within; readonly saved: Uint32Array }[];
  /** Links that a choice or a transform excluded, by reason (`Occurrences.save`). */
  readonly leftOut: readonly { readonly reason: string; readonly saved: Uint32Array }[];
  /** Empty without a transform. */
  readonly made: MadeLinks;
}

/** Counts of earlier segments. */
export interface Before {
  count(table: number, uuid: string): number;
}

/** What earlier segments know that matters to one segment; structured clone. */
export interface KnownBefore {
  /** Empty if nothing of it was counted. */
  readonly counts: readonly ReadonlyMap<string, number>[];
  readonly links: ReadonlyMap<string, KnownLink>;
}

const nothing: KnownBefore = { counts: [], links: new Map() };

/** `before` replaces the counts of `known`. */
export function createSegmentMemory(known = nothing, before: Before = beforeOf(known)): SegmentMemory {
  const tables: { readonly within: Within; readonly own: Occurrences }[] = [];
  const leftOut = createExcludedLinks();
  const made = { uuids: [] as string[], micros: [] as number[], became: [] as number[] };
  return {
    occurrences: (within) => {
      const own = createOccurrences();
      const table = tables.push({ within, own }) - 1;
      return { next: (uuid) => before.count(table, uuid) + own.next(uuid) };
    },
    links: createLinks(known.links),
    exclude: leftOut.add,
    became: ({ uuid, timestamp }, what) => {
      const ms = Date.parse(timestamp);
      made.uuids.push(uuid);
      made.micros.push(Number.isNaN(ms) ? Infinity : ms * 1000);
      made.became.push(what);
    },
    handOver: () => ({
      counted: tables.map(({ within, own }) => ({ within, saved: own.save() })),
      leftOut: leftOut.list().map(([reason, links]) => ({ reason, saved: links.save() })),
      made,
    }),
  };
}

function beforeOf({ counts }: KnownBefore): Before {
  return { count: (table, uuid) => counts[table]?.get(uuid) ?? 0 };
}

/** What all segments up to now remember. */
export interface MemorySum extends Before {
  /**
   * Returns what a segment should have known from it; `undefined` if nothing. `counted`: whether the segment counted from 0 instead of
   * continuing earlier counts.
   */
  known(memories: SegmentMemories, counted: boolean): KnownBefore | undefined;
  add(memories: SegmentMemories): void;
  /** Call it when the next segment is of another file. */
  startFile(): void;
  /** Subtracts links that were excluded in several segments: each counts once. */
  addTo(sum: Pick<Sum, 'choice'>): void;
}

export function createMemorySum(): MemorySum {
  const tables: { readonly within: Within; readonly sum: Occurrences }[] = [];
  const leftOut = new Map<string, Occurrences>();
  const repeated = new Map<string, number>();
  const made = createMadeLinksSum();
  return {
    count: (table, uuid) => tables[table]?.sum.countOf(uuid) ?? 0,
    known: (memories, counted) => {
      const counts = counted ? memories.counted.map(({ saved }, index) => countsOf(tables[index]?.sum, saved)) : [];
      const links = made.known(memories.made);
      return links.size === 0 && counts.every(({ size }) => size === 0) ? undefined : { counts, links };
    },
    add: (memories) => {
      for (const [index, { within, saved }] of memories.counted.entries()) {
        (tables[index] ??= { within, sum: createOccurrences() }).sum.merge(saved);
      }
      for (const { reason, saved } of memories.leftOut) {
        const known = leftOut.get(reason) ?? createOccurrences();
        leftOut.set(reason, known);
        countReason(repeated, reason, countsOf(known, saved).size);
        known.merge(saved);
      }
      made.add(memories.made);
    },
    startFile: () => {
      for (const { within, sum } of tables) if (within === 'file') sum.clear();
    },
    addTo: ({ choice }) => {
      for (const [reason, count] of repeated) {
        choice.read -= count;
        choice.leftOut.set(reason, (choice.leftOut.get(reason) ?? 0) - count);
      }
    },
  };
}

/** Returns the counts of saved ids that occurred before. */
function countsOf(table: Occurrences | undefined, saved: Uint32Array): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  if (table === undefined) return counts;
  for (let at = 0; at < saved.length; at += wordsPerId) {
    const count = table.countAt(saved, at);
    if (count > 0) counts.set(uuidAt(saved, at), count);
  }
  return counts;
}
