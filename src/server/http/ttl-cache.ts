import { LRUCache } from 'lru-cache';
import { isFresh, type Clock } from '../../base/clock.ts';

/** Remembers what was read for a few seconds, at most `max` entries. */
export interface TtlCache<Value> {
  get(key: string): Value | undefined;
  /** What is cached, else what `load` finds; `undefined` is never remembered. A removal during the load wins. */
  through(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined>;
  delete(matches: (value: Value) => boolean): void;
}

export function createTtlCache<Value>(options: {
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly max: number;
}): TtlCache<Value> {
  const entries = new LRUCache<string, { readonly value: Value; readonly at: number }>({ max: options.max });
  let removals = 0;
  const get = (key: string): Value | undefined => {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    if (isFresh(entry.at, options.ttlMs, options.clock.now())) return entry.value;
    entries.delete(key);
    return undefined;
  };
  return {
    get,
    async through(key, load) {
      const cached = get(key);
      if (cached !== undefined) return cached;
      const removalsBefore = removals;
      const value = await load();
      if (value === undefined || removals !== removalsBefore) return value;
      entries.set(key, { value, at: options.clock.now() });
      return value;
    },
    delete(matches) {
      removals += 1;
      for (const [key, entry] of entries) if (matches(entry.value)) entries.delete(key);
    },
  };
}
