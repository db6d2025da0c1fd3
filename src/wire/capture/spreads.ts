import { LRUCache } from 'lru-cache';
import { isFresh, type Clock } from '../../base/clock.ts';
import { unavailable } from './project-key.ts';

/** Over how many slots a project is spread, as the metadata store says. */
export interface FoundSpread {
  readonly spread: number;
  /** What it was before. */
  readonly before: number;
  /** How long ago it changed, ms. */
  readonly ageMs: number;
}

/** Over how many slots the events of each project go. */
export interface Spreads {
  /** Throws ApiError 503 when it could not be looked up. */
  of(projectId: number): Promise<number>;
}

export interface SpreadsDeps {
  /** Undefined: there is no such project. */
  readonly find: (projectId: number) => Promise<FoundSpread | undefined>;
  readonly clock: Clock;
  readonly ttlMs?: number;
}

/**
 * A new spread waits this long: a slot must not receive events of a project before its consumer knows its share, or they would pass
 * the transformations. Consumers check after reading, and what they see is at most a quarter of a second old.
 */
const settleMs = 2000;
const projectsMax = 10_000;

interface Entry {
  readonly spread: number;
  readonly at: number;
  readonly ttlMs: number;
}

/** Asks once in a few seconds for each project. */
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
      // Any slot that it was ever spread over is right; losing events is not.
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
