const boxed = /^\[object (Boolean|Number|String)\]$/;

type Known = Map<object, unknown>;

/** Clones JSON-like data, dates, maps, sets, patterns, errors and bytes, including circular ones. */
export function structuredClone(value: unknown): unknown {
  return cloneOf(value, new Map());
}

function cloneOf(value: unknown, known: Known): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') throw cannotClone(value);
  if (typeof value !== 'object' || value === null) return value;
  if (known.has(value)) return known.get(value);
  return cloneBuiltIn(value, known) ?? cloneContainer(value, known);
}

function cannotClone(value: unknown): Error {
  const error = new Error(`${String(value)} could not be cloned.`);
  error.name = 'DataCloneError';
  return error;
}

function cloneBuiltIn(value: object, known: Known): object | undefined {
  const copy = copyOf(value);
  if (copy !== undefined) known.set(value, copy);
  return copy;
}

function copyOf(value: object): object | undefined {
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (ArrayBuffer.isView(value)) return copyOfView(value);
  if (boxed.test(Object.prototype.toString.call(value))) return Object(value.valueOf());
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof Promise) throw cannotClone(value);
  return undefined;
}

function copyOfView(view: ArrayBufferView): object {
  const bytes = new Uint8Array(view.byteLength);
  bytes.set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  if (view instanceof DataView) return new DataView(bytes.buffer);
  const name = Object.prototype.toString.call(view).slice(8, -1);
  const make: unknown = Reflect.get(globalThis, name);
  return typeof make === 'function' ? Reflect.construct(make, [bytes.buffer]) : bytes;
}

function cloneContainer(value: object, known: Known): object {
  if (value instanceof Map) return cloneMap(value, known);
  if (value instanceof Set) return cloneSet(value, known);
  const copy = value instanceof Error ? copyOfError(value) : Array.isArray(value) ? Array(value.length) : {};
  known.set(value, copy);
  if (value instanceof Error) return copy;
  for (const key of Object.keys(value)) {
    const own = {
      value: cloneOf(Reflect.get(value, key), known),
      writable: true,
      enumerable: true,
      configurable: true,
    };
    Object.defineProperty(copy, key, own);
  }
  return copy;
}

function cloneMap(value: Map<unknown, unknown>, known: Known): Map<unknown, unknown> {
  const copy = new Map<unknown, unknown>();
  known.set(value, copy);
  for (const [key, item] of value) copy.set(cloneOf(key, known), cloneOf(item, known));
  return copy;
}

function cloneSet(value: Set<unknown>, known: Known): Set<unknown> {
  const copy = new Set<unknown>();
  known.set(value, copy);
  for (const item of value) copy.add(cloneOf(item, known));
  return copy;
}

function copyOfError(error: Error): Error {
  const kinds = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const make = Object.entries(kinds).find(([name]) => name === error.name)?.[1] ?? Error;
  const copy = new make(error.message);
  if (error.stack !== undefined) copy.stack = error.stack;
  return copy;
}
