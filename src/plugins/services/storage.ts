import type { Metadata } from '../../stores/metadata/database.ts';
import type { PluginStorage } from '../host.ts';
import type { JsonValue } from '../../base/json.ts';
import { deleteValues, lockNumber, readValues, writeValues } from './storage-rows.ts';
import { parseStored, storedKey, storedValue, sumOf } from './storage-text.ts';

interface StorageOf {
  readonly configId: number;
  readonly projectId: number;
}

/** Storage that writes immediately, for jobs and schedules. Transformations use window-storage.ts. */
export function createStorage(db: Metadata, { configId, projectId }: StorageOf): PluginStorage {
  const rowOf = (key: string) => ({ config_id: configId, project_id: projectId, key: storedKey(key) });
  return {
    get: async (key) => {
      const stored = storedKey(key);
      const text = (await readValues(db, configId, [stored])).get(stored);
      return text === undefined ? undefined : parseStored(text);
    },
    getMany: async (keys) => {
      const texts = await readValues(db, configId, [...new Set(keys.map(storedKey))]);
      return pickValues(keys, texts);
    },
    set: async (key, value) => writeValues(db, [{ ...rowOf(key), value: storedValue(key, value) }]),
    delete: async (key) => deleteValues(db, configId, [storedKey(key)]),
    increment: (key, by) =>
      db.transaction().execute(async (tx) => {
        const row = rowOf(key);
        const sum = sumOf(key, parseStored(await lockNumber(tx, row)), by);
        await writeValues(tx, [{ ...row, value: storedValue(key, sum) }]);
        return sum;
      }),
  };
}

/** Returns the values of the set keys from JSON texts by stored key. */
export function pickValues(keys: readonly string[], texts: ReadonlyMap<string, string>): Map<string, JsonValue> {
  const values = new Map<string, JsonValue>();
  for (const key of keys) {
    const text = texts.get(storedKey(key));
    if (text !== undefined) values.set(key, parseStored(text));
  }
  return values;
}
