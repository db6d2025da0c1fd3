import type { PluginCache } from '../host.ts';

export interface CacheStore {
  /** Returns the cache shared by all configs of a plugin in a project. `pluginKey` identifies the plugin. */
  of(pluginKey: string, projectId: number): PluginCache;
}

interface CacheStoreDeps {
  /** Limit of all entries together. Beyond it, the plugin that uses most loses its least recently used entries. */
  readonly bytesMax: number;
  /** ms since the epoch. */
  readonly now: () => number;
}

const keyCharsMax = 512;
const valueCharsMax = 1_000_000;
const pushMax = 1000;
const listMax = 50_000;
/** Approximate size of an entry besides its texts. */
const entryBytes = 100;
const itemBytes = 24;

interface Entry {
  value: string | string[];
  bytes: number;
  /** ms since the epoch; `undefined` means never. */
  expiresAt: number | undefined;
}

/** Least recently used first. */
interface Space {
  readonly entries: Map<string, Entry>;
  bytes: number;
}

/** Creates an in-memory store by plugin and project, which is lost when the process ends. */
export function createCacheStore({ bytesMax, now }: CacheStoreDeps): CacheStore {
  const spaces = new Map<string, Space>();
  let bytes = 0;

  const remove = (space: Space, key: string, entry: Entry): void => {
    space.entries.delete(key);
    space.bytes -= entry.bytes;
    bytes -= entry.bytes;
  };
  const evict = (): void => {
    for (;;) {
      if (bytes <= bytesMax) return;
      let largest: Space | undefined;
      for (const space of spaces.values()) if (space.bytes > (largest?.bytes ?? 0)) largest = space;
      const [oldest] = largest?.entries ?? [];
      if (largest === undefined || oldest === undefined) return;
      remove(largest, ...oldest);
    }
  };
  const keep = (space: Space, key: string, value: string | string[], expiresAt: number | undefined): void => {
    const before = space.entries.get(key);
    if (before !== undefined) remove(space, key, before);
    const entry = { value, bytes: bytesOf(key, value), expiresAt };
    space.entries.set(key, entry);
    space.bytes += entry.bytes;
    bytes += entry.bytes;
    evict();
  };
  /** Returns an entry that has not expired, and marks it as used. */
  const find = (space: Space, key: string): Entry | undefined => {
    const entry = space.entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAt !== undefined && entry.expiresAt <= now()) {
      remove(space, key, entry);
      return undefined;
    }
    space.entries.delete(key);
    space.entries.set(key, entry);
    return entry;
  };
  return {
    of: (pluginKey, projectId) => {
      const name = `${projectId} ${pluginKey}`;
      const spaceOf = (): Space => {
        let space = spaces.get(name);
        if (space === undefined) spaces.set(name, (space = { entries: new Map(), bytes: 0 }));
        return space;
      };
      return createCache({
        find: (key) => find(spaceOf(), checkedKey(key)),
        keep: (key, value, expiresAt) => keep(spaceOf(), key, value, expiresAt),
        remove: (key) => {
          const entry = find(spaceOf(), checkedKey(key));
          if (entry !== undefined) remove(spaceOf(), key, entry);
        },
        expiryOf: (ttlSeconds) => (ttlSeconds === undefined ? undefined : now() + ttlSeconds * 1000),
      });
    },
  };
}

interface Entries {
  find(key: string): Entry | undefined;
  /** Adds an entry or replaces it. */
  keep(key: string, value: string | string[], expiresAt: number | undefined): void;
  remove(key: string): void;
  expiryOf(ttlSeconds: number | undefined): number | undefined;
}

function createCache(entries: Entries): PluginCache {
  const textAt = (key: string): string | undefined => {
    const value = entries.find(key)?.value;
    if (Array.isArray(value)) throw wrongKind(key, 'a text', 'a list');
    return value;
  };
  return {
    get: async (key) => textAt(key),
    set: async (key, value, ttlSeconds) => {
      checkedKey(key);
      // Published plugins pass 0 for no limit.
      const ttl = ttlSeconds === 0 ? undefined : checkedTtl(ttlSeconds);
      entries.keep(key, checkedValue(value), entries.expiryOf(ttl));
    },
    delete: async (key) => entries.remove(key),
    increment: async (key) => {
      const text = textAt(key) ?? '0';
      const sum = Number(text) + 1;
      if (!/^-?\d{1,16}$/.test(text) || !Number.isSafeInteger(sum)) throw wrongKind(key, 'an integer', 'another text');
      entries.keep(key, String(sum), entries.find(key)?.expiresAt);
      return sum;
    },
    expire: async (key, ttlSeconds) => {
      const entry = entries.find(key);
      if (entry === undefined) return false;
      if (ttlSeconds <= 0) entries.remove(key);
      else entry.expiresAt = entries.expiryOf(checkedTtl(ttlSeconds));
      return true;
    },
    ...createLists(entries),
  };
}

type Lists = Pick<PluginCache, 'listPush' | 'listRange' | 'listLength' | 'listRemove' | 'listPop'>;

function createLists(entries: Entries): Lists {
  const listAt = (key: string): readonly string[] => {
    const value = entries.find(key)?.value ?? [];
    if (!Array.isArray(value)) throw wrongKind(key, 'a list', 'a text');
    return value;
  };
  const keepList = (key: string, list: string[]): void => {
    // As in Redis, an empty list does not exist.
    if (list.length === 0) entries.remove(key);
    else entries.keep(key, list, entries.find(key)?.expiresAt);
  };
  return {
    listPush: async (key, values) => {
      const list = listAt(key);
      if (values.length > pushMax) {
        throw new Error(`cache: expected at most ${pushMax} values per push, got: ${values.length}`);
      }
      const length = list.length + values.length;
      if (length > listMax) throw new Error(`cache: expected a list of at most ${listMax} values, got: ${length}`);
      keepList(key, [...values.map(checkedValue).reverse(), ...list]);
      return length;
    },
    listRange: async (key, start, end) => {
      const list = listAt(key);
      const from = fromEnd(start, list.length);
      const to = fromEnd(end, list.length);
      return list.slice(Math.max(0, from), Math.max(0, to + 1));
    },
    listLength: async (key) => listAt(key).length,
    listRemove: async (key, count, value) => {
      const list = listAt(key);
      const kept = without(list, value, count);
      if (kept.length < list.length) keepList(key, kept);
      return list.length - kept.length;
    },
    listPop: async (key, count) => {
      const list = listAt(key);
      const popped = list.slice(0, Math.max(0, Math.trunc(count)));
      if (popped.length > 0) keepList(key, list.slice(popped.length));
      return popped;
    },
  };
}

function fromEnd(index: number, length: number): number {
  const whole = Math.trunc(index);
  return whole < 0 ? whole + length : whole;
}

/** `count` as in Redis: positive from the head, negative from the tail, 0 all. */
function without(list: readonly string[], value: string, count: number): string[] {
  let left = count === 0 ? Infinity : Math.abs(Math.trunc(count));
  const isKept = (each: string): boolean => each !== value || (left -= 1) < 0;
  return count < 0 ? list.toReversed().filter(isKept).reverse() : list.filter(isKept);
}

function bytesOf(key: string, value: string | string[]): number {
  // At most two bytes per character.
  if (typeof value === 'string') return entryBytes + 2 * (key.length + value.length);
  let chars = key.length;
  for (const item of value) chars += item.length;
  return entryBytes + 2 * chars + itemBytes * value.length;
}

function checkedKey(key: string): string {
  if (key.length > keyCharsMax) {
    throw new Error(`cache: expected a key of at most ${keyCharsMax} characters, got: ${key.length}`);
  }
  return key;
}

function checkedValue(value: string): string {
  if (value.length > valueCharsMax) {
    throw new Error(`cache: expected a value of at most ${valueCharsMax} characters, got: ${value.length}`);
  }
  return value;
}

function checkedTtl(ttlSeconds: number | undefined): number | undefined {
  if (ttlSeconds === undefined || (Number.isFinite(ttlSeconds) && ttlSeconds > 0)) return ttlSeconds;
  throw new Error(`cache: expected a time to live above 0 seconds, got: ${ttlSeconds}`);
}

function wrongKind(key: string, expected: string, got: string): Error {
  return new Error(`cache: expected ${expected} at ${JSON.stringify(key.slice(0, 60))}, got: ${got}`);
}
