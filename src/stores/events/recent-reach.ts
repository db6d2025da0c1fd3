import { LRUCache } from 'lru-cache';
import type { EventFilter } from './filters.ts';

/** Entries are dropped after this time, because many events may have arrived since. */
const freshMicros = 3_600_000_000n;
/** Limit for the keys of all entries, because a filter may contain many ids. */
const keyCharsMax = 1_000_000;

interface Reached {
  /** Time of the list, µs since the epoch. */
  readonly atMicros: bigint;
  /** Time of the last event requested. */
  readonly reachedMicros: bigint;
}

/**
 * Remembers how far back the newest events of a list reached. The newest events of the next list are there or later, since events
 * are only added, so its search begins there instead of at the last day, which may contain a million events or none. Removed events
 * do no harm: a search that finds too few continues before that time.
 */
export class RecentReach {
  readonly #entries = new LRUCache<string, Reached>({ maxSize: keyCharsMax, sizeCalculation: (_, key) => key.length });

  /** Returns where to search first, in µs since the epoch, if known. */
  reached(projectId: number, filter: EventFilter, nowMicros: bigint): bigint | undefined {
    const entry = this.#entries.get(keyOf(projectId, filter));
    if (entry === undefined || nowMicros < entry.atMicros || nowMicros - entry.atMicros > freshMicros) return undefined;
    return entry.reachedMicros;
  }

  note(projectId: number, filter: EventFilter, entry: Reached): void {
    this.#entries.set(keyOf(projectId, filter), entry);
  }
}

function keyOf(projectId: number, filter: EventFilter): string {
  return JSON.stringify([projectId, filter], (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}
