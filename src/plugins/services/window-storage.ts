import { assert } from '../../base/assert.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { MetadataUnreadError } from '../../stores/metadata/unread-error.ts';
import type { PluginStorage } from '../host.ts';
import type { StorageChange, StorageChanges } from './storage-changes.ts';
import { readValues } from './storage-rows.ts';
import { parseStored, storedKey, storedValue, sumOf } from './storage-text.ts';
import { pickValues } from './storage.ts';

interface Entry {
  /** Null means deleted. */
  readonly text: string | null;
  /** The window that wrote it. */
  readonly generation: number;
  readonly added: StorageChange['added'];
}

/** One change of a key by an event. */
interface Write {
  readonly key: string;
  readonly before: Entry | undefined;
  readonly after: Entry;
  /** The added amount; null for a set or delete. */
  readonly by: number | null;
  /** Discarded by a later reset, which has another number. */
  readonly resets: number;
}

interface Overlay {
  readonly projectId: number;
  readonly entries: Map<string, Entry>;
  /** Characters of keys and values. */
  size: number;
}

/** Limit of one config's unstored writes. */
const sizeMax = 64_000_000;
const readsMax = 100;

/**
 * Storage of transformations in the pipeline. A window's writes stay in memory, in front of the store, until `committed` reports
 * that they are stored; later windows see them immediately. After any failure, once no computation runs, `reset` discards them
 * and the store is the truth again: the same events do the same work once more. A failed read fails the window and not only the
 * plugin: its events would otherwise pass as if the plugin had refused them. An event that is lost together with its plugin's
 * process is processed again inside the window; its writes are undone before.
 */
export class WindowStorage {
  readonly #db: Queries;
  #overlays = new Map<number, Overlay>();
  #generation = 1;
  #commits = 0;
  #resets = 0;
  /** The window that was stored last. */
  #stored = 0;
  #unread: unknown;

  constructor(db: Queries) {
    this.#db = db;
  }

  of(configId: number, projectId: number): PluginStorage {
    // They are removed with the event.
    const writesOf = new WeakMap<object, Write[]>();
    return {
      ...this.#storageOf(configId, projectId, undefined),
      forEvent: (event) => {
        const writes = writesOf.get(event) ?? [];
        writesOf.set(event, writes);
        return this.#storageOf(configId, projectId, writes);
      },
      takeBack: (event) => this.#takeBack(configId, writesOf.get(event)?.splice(0) ?? []),
    };
  }

  /** `writes` records the writes of an event. */
  #storageOf(configId: number, projectId: number, writes: Write[] | undefined): PluginStorage {
    const write = (key: string, after: Entry, by: number | null): void => {
      const before = this.#write(configId, projectId, key, after);
      writes?.push({ key, before, after, by, resets: this.#resets });
    };
    return {
      get: (key) => {
        const stored = storedKey(key);
        return this.#with(configId, [stored], (textOf) => {
          const text = textOf(stored);
          return text === null ? undefined : parseStored(text);
        });
      },
      getMany: (keys) => {
        const stored = [...new Set(keys.map(storedKey))];
        return this.#with(configId, stored, (textOf) => {
          const texts = new Map<string, string>();
          for (const key of stored) {
            const text = textOf(key);
            if (text !== null) texts.set(key, text);
          }
          return pickValues(keys, texts);
        });
      },
      set: async (key, value) => {
        const text = storedValue(key, value);
        write(storedKey(key), { text, generation: this.#generation, added: null }, null);
      },
      delete: async (key) => write(storedKey(key), { text: null, generation: this.#generation, added: null }, null),
      increment: (key, by) => {
        const stored = storedKey(key);
        return this.#with(configId, [stored], (textOf) => {
          const base = textOf(stored);
          const sum = sumOf(key, base === null ? 0 : parseStored(base), by);
          const added = this.#addedTo(configId, stored, base, by);
          write(stored, { text: JSON.stringify(sum), generation: this.#generation, added }, by);
          return sum;
        });
      },
    };
  }

  /** Returns the writes since the last call; later writes do not affect it. Throws if the store could not be read. */
  takeChanges(): StorageChanges {
    if (this.#unread !== undefined) {
      throw new MetadataUnreadError('storage: the store could not be read; the events of the window are retried', {
        cause: this.#unread,
      });
    }
    const rows: StorageChange[] = [];
    for (const [configId, { projectId, entries }] of this.#overlays) {
      for (const [key, { text, generation, added }] of entries) {
        if (generation === this.#generation) rows.push({ configId, projectId, key, text, added });
      }
    }
    return { generation: this.#generation++, rows };
  }

  /** Called when the changes are stored. */
  committed({ generation, rows }: StorageChanges): void {
    this.#commits += 1;
    this.#stored = Math.max(this.#stored, generation);
    for (const { configId, key } of rows) {
      const overlay = this.#overlays.get(configId);
      const entry = overlay?.entries.get(key);
      // Written again since, or discarded by a reset.
      if (overlay === undefined || entry?.generation !== generation) continue;
      overlay.entries.delete(key);
      overlay.size -= sizeOf(key, entry);
      if (overlay.entries.size === 0) this.#overlays.delete(configId);
    }
  }

  /** Discards all unstored writes. */
  reset(): void {
    this.#overlays = new Map();
    this.#resets += 1;
    this.#unread = undefined;
  }

  /**
   * Calls `use` in the same step of the event loop in which the texts were found, so that nothing happens between reading and
   * writing.
   */
  async #with<T>(
    configId: number,
    keys: readonly string[],
    use: (textOf: (key: string) => string | null) => T,
  ): Promise<T> {
    const resets = this.#resets;
    let stored: ReadonlyMap<string, string> = new Map();
    for (let reads = 0; reads < readsMax; reads += 1) {
      const commits = this.#commits;
      const missing = keys.filter((key) => this.#entry(configId, key) === undefined);
      if (missing.length > 0) stored = await this.#read(configId, missing);
      if (resets !== this.#resets) throw new Error('storage: the window was abandoned; its events are retried');
      // Values stored during the read have left the memory, and the result may not contain them.
      if (missing.length > 0 && commits !== this.#commits) continue;
      return use((key) => {
        const entry = this.#entry(configId, key);
        return entry === undefined ? (stored.get(key) ?? null) : entry.text;
      });
    }
    throw new Error(`storage: expected a read between two commits, got none in ${readsMax} attempts; retry`);
  }

  async #read(configId: number, keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const resets = this.#resets;
    try {
      return await readValues(this.#db, configId, keys);
    } catch (error) {
      // An error of an abandoned window does not affect the next one.
      if (resets === this.#resets) this.#unread = error;
      throw error;
    }
  }

  #entry(configId: number, key: string): Entry | undefined {
    return this.#overlays.get(configId)?.entries.get(key);
  }

  /** Returns how an increment is stored: a number set by this window is set, another one is added to. */
  #addedTo(configId: number, key: string, base: string | null, by: number): StorageChange['added'] {
    const entry = this.#entry(configId, key);
    if (entry?.generation !== this.#generation) return { by, base };
    return entry.added === null ? null : { by: entry.added.by + by, base: entry.added.base };
  }

  /**
   * Undoes the last write first. A value overwritten by another event stays: that event has seen it and used it. A sum is reduced,
   * whatever was added since.
   */
  #takeBack(configId: number, writes: readonly Write[]): void {
    for (const { key, before, after, by, resets } of writes.toReversed()) {
      const overlay = this.#overlays.get(configId);
      if (resets !== this.#resets || overlay === undefined) continue;
      const now = overlay.entries.get(key);
      if (now === after) this.#putBack(overlay, key, before);
      else if (by !== null && now !== undefined && now.added !== null) this.#putBack(overlay, key, lessened(now, by));
    }
  }

  /** Restores an entry; an undefined or already stored one is removed, because the store has the value. */
  #putBack(overlay: Overlay, key: string, entry: Entry | undefined): void {
    const now = overlay.entries.get(key);
    if (now !== undefined) overlay.size -= sizeOf(key, now);
    if (entry === undefined || entry.generation <= this.#stored) {
      overlay.entries.delete(key);
      return;
    }
    overlay.size += sizeOf(key, entry);
    overlay.entries.set(key, entry);
  }

  /** Returns the previous entry. */
  #write(configId: number, projectId: number, key: string, entry: Entry): Entry | undefined {
    let overlay = this.#overlays.get(configId);
    if (overlay === undefined) this.#overlays.set(configId, (overlay = { projectId, entries: new Map(), size: 0 }));
    assert(overlay.projectId === projectId, 'a config belongs to one project');
    const before = overlay.entries.get(key);
    const size = overlay.size + sizeOf(key, entry) - (before === undefined ? 0 : sizeOf(key, before));
    if (size > sizeMax) {
      throw new Error(`storage: expected at most ${sizeMax} unstored characters, got more; write less per event`);
    }
    overlay.entries.set(key, entry);
    overlay.size = size;
    return before;
  }
}

function lessened(entry: Entry, by: number): Entry {
  const { text, added } = entry;
  if (text === null || added === null) return entry;
  return { ...entry, text: JSON.stringify(Number(text) - by), added: { ...added, by: added.by - by } };
}

function sizeOf(key: string, { text }: Entry): number {
  return key.length + (text?.length ?? 0);
}
