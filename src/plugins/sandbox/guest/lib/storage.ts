import type { Bridge } from './bridge.ts';

/** `meta.storage`: persistent values of this config. */
export function createStorage(bridge: Bridge) {
  const get = async (key: unknown, defaultValue?: unknown): Promise<unknown> => {
    const found = await bridge.call('storage.get', [String(key)]);
    return isFound(found) ? found.value : defaultValue;
  };
  const del = async (key: unknown): Promise<void> => {
    await bridge.call('storage.delete', [String(key)]);
  };
  const set = async (key: unknown, value: unknown): Promise<void> => {
    // A value that JSON cannot represent (undefined, functions) deletes the key.
    const text = JSON.stringify(value);
    if (text === undefined) await del(key);
    else await bridge.call('storage.set', [String(key), JSON.parse(text)]);
  };
  return { get, set, del };
}

function isFound(found: unknown): found is { readonly value: unknown } {
  return typeof found === 'object' && found !== null && 'value' in found;
}

/** `meta.utils.cursor`: a number in the storage. */
export function createCursor(bridge: Bridge) {
  const storage = createStorage(bridge);
  return {
    /** Sets the number if it is unset. */
    init: async (key: unknown, initialValue: unknown = 0): Promise<void> => {
      if ((await storage.get(key)) === undefined) await storage.set(key, numberOf('utils.cursor.init', initialValue));
    },
    increment: (key: unknown, incrementBy: unknown = 1): Promise<unknown> =>
      bridge.call('storage.increment', [String(key), numberOf('utils.cursor.increment', incrementBy)]),
  };
}

function numberOf(method: string, value: unknown): number {
  const number = Number(value);
  if (!Number.isFinite(number)) throw new TypeError(`${method}: expected a number, got ${String(value)}`);
  return number;
}
