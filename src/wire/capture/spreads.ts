import { LRUCache } from 'lru-cache';
import { isFresh, type Clock } from '../../base/clock.ts';
import { unavailable } from './project-key.ts';

/** Number of slots a project is spread over, as read from the metadata store. */
export interface FoundSpread {
  readonly spread: number;
  /** Its previous value. */
  readonly before: number;
  /** Time since the change. */
  readonly ageMs: number;
}

/** Number of slots that the events of each project are spread over. */
export interface Spreads {
  /** Throws ApiError 503 if the look-up failed. */
  of(projectId: number): Promise<number>;
}

export interface SpreadsDeps {
  /** Returns `undefined` if the project does not exist. */
  readonly find: (projectId: number) => Promise<FoundSpread | undefined>;
  readonly clock: Clock;
  readonly ttlMs?: number;
}

/**
 * A new spread takes effect after this time: a slot must not receive events of a project before its consumer knows its share, or they would skip
 * the transformations. Consumers check after reading, and what they see is at most a quarter of a second old.
 */
const settleMs = 2000;
const projectsMax = 10_000;

interface Entry {
  readonly spread: number;
  readonly at: number;
  readonly ttlMs: number;
}

/** Looks the spread of each project up once in a few seconds. */
export function createSpreads({ find, clock, ttlMs = 2500 }: SpreadsDeps): Spreads {
  const known = new LRUCache<number, Entry>({ max: projectsMax });
  const pending = new Map<number, Promise<number>>();

  const lookUp = async (projectId: number): Promise<number> => {
    try {
      const found = await find(projectId);
      const leftMs = found === undefined ? 0 : settleMs - found.ageMs;
      const spread = (leftMs > 0 ? found?.before : found?.spread) ?? 1;
      known.set(projectId, { spread, at: clock.now(), ttlMs: leftMs > 0 ? Math.min(leftMs, ttlMs) : ttlMs });
      return spread;
    } catch (cause) {
      // An outdated spread is harmless; losing events is not.
      const stale = known.get(projectId)?.spread;
      if (stale !== undefined) return stale;
      throw unavailable('The project could not be looked up; try again.', 5, cause);
    } finally {
      pending.delete(projectId);
    }
  };

  return {
    of: async (projectId) => {
      const entry = known.get(projectId);
      if (entry !== undefined && isFresh(entry.at, entry.ttlMs, clock.now())) return entry.spread;
      let found = pending.get(projectId);
      if (found === undefined) pending.set(projectId, (found = lookUp(projectId)));
      return await found;
    },
  };
}
