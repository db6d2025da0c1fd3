import { LRUCache } from 'lru-cache';
import type { EventFilter } from './filters.ts';

/** A later look is no better off than one that knows nothing: by then much may have come. */
const freshMicros = 3_600_000_000n;
/** Of the keys of all that is remembered: a filter may name many ids. */
const keyCharsMax = 1_000_000;

interface Reached {
  /** When it was, µs since the epoch. */
  readonly atMicros: bigint;
  /** Time of the last event that was wanted. */
  readonly reachedMicros: bigint;
}

/**
 * How far back the newest events of a list reached when somebody last looked: those of the next look lie there or later, since events
 * only come. So it begins there, instead of at the last day, which may hold a million events or none. Events that are gone since do no
 * harm: a look that finds too few goes on before that time.
 */
export class RecentReach {
  readonly #entries = new LRUCache<string, Reached>({ maxSize: keyCharsMax, sizeCalculation: (_, key) => key.length });

  /** Where to look first, µs since the epoch; undefined: nothing is known. */
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
