import type { Bridge } from './bridge.ts';

interface JsonOption {
  /** Default true. */
  readonly jsonSerialize?: boolean;
}

/** `meta.cache`: values that may be lost at any time. */
export function createCache(bridge: Bridge) {
  const ask = (op: string, ...args: readonly unknown[]): Promise<unknown> => bridge.call(`cache.${op}`, args);
  return {
    set: async (key: unknown, value: unknown, ttlSeconds?: unknown, options: JsonOption = {}): Promise<void> => {
      const text = options.jsonSerialize === false ? String(value) : (JSON.stringify(value) ?? 'null');
      await ask('set', String(key), text, ttlOf(ttlSeconds));
    },
    get: async (key: unknown, defaultValue: unknown, options: JsonOption = {}): Promise<unknown> => {
      const text = await ask('get', String(key));
      if (typeof text !== 'string') return defaultValue;
      return options.jsonSerialize === false ? text : parse(String(key), text);
    },
    incr: (key: unknown): Promise<unknown> => ask('increment', String(key)),
    expire: (key: unknown, ttlSeconds: unknown): Promise<unknown> =>
      ask('expire', String(key), secondsOf('cache.expire', ttlSeconds)),
    lpush: (key: unknown, elements: unknown): Promise<unknown> => ask('listPush', String(key), elementsOf(elements)),
    lrange: (key: unknown, start: unknown, end: unknown): Promise<unknown> =>
      ask('listRange', String(key), wholeNumber('cache.lrange', start), wholeNumber('cache.lrange', end)),
    llen: (key: unknown): Promise<unknown> => ask('listLength', String(key)),
    lrem: (key: unknown, count: unknown, element: unknown): Promise<unknown> =>
      ask('listRemove', String(key), wholeNumber('cache.lrem', count), String(element)),
    lpop: (key: unknown, count: unknown = 1): Promise<unknown> =>
      ask('listPop', String(key), wholeNumber('cache.lpop', count)),
  };
}

function parse(key: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const advice = 'a value set with jsonSerialize: false must be read with it too';
    throw new SyntaxError(`cache.get("${key}"): the cached text is not JSON; ${advice}`, { cause });
  }
}

function ttlOf(ttlSeconds: unknown): number | null {
  return ttlSeconds === undefined || ttlSeconds === null ? null : secondsOf('cache.set', ttlSeconds);
}

function secondsOf(method: string, value: unknown): number {
  const seconds = Number(value);
  if (!Number.isFinite(seconds))
    throw new TypeError(`${method}: expected a time to live in seconds, got ${String(value)}`);
  return seconds;
}

function wholeNumber(method: string, value: unknown): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new TypeError(`${method}: expected a whole number, got ${String(value)}`);
  return number;
}

function elementsOf(elements: unknown): string[] {
  const list: unknown[] = Array.isArray(elements) ? elements : [elements];
  if (list.length > 1000)
    throw new RangeError(`cache.lpush: expected at most 1000 elements at once, got ${list.length}`);
  return list.map(String);
}
