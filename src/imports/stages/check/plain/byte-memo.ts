import { sameBytes } from './canonical-value.ts';

/**
 * Answers by the bytes that were asked about, in a fixed amount of memory: a newer one takes the place of an older one of the same
 * hash. For answers that follow from the bytes alone.
 */
export interface ByteMemo<Value> {
  /** Undefined: not known (any more). `set` puts the answer to what was asked last. */
  get(bytes: Uint8Array, from: number, to: number): Value | undefined;
  set(value: Value): void;
}

/** Longer ones are not remembered. */
const keyBytesMax = 248;

/** `slots`: a power of two. */
export function createByteMemo<Value>(slots: number): ByteMemo<Value> {
  const keys = new Uint8Array(slots * keyBytesMax);
  const lengths = new Uint8Array(slots);
  const values: (Value | undefined)[] = Array.from({ length: slots }, () => undefined);
  let asked: Uint8Array = keys;
  let askedFrom = 0;
  let askedLength = 0;
  let slot = 0;
  return {
    get: (bytes, from, to) => {
      asked = bytes;
      askedFrom = from;
      askedLength = to - from;
      if (askedLength > keyBytesMax) return undefined;
      slot = hashOf(bytes, from, to) & (slots - 1);
      const isSame = lengths[slot] === askedLength && sameBytes(keys, slot * keyBytesMax, bytes, from, askedLength);
      return isSame ? values[slot] : undefined;
    },
    set: (value) => {
      if (askedLength > keyBytesMax) return;
      keys.set(asked.subarray(askedFrom, askedFrom + askedLength), slot * keyBytesMax);
      lengths[slot] = askedLength;
      values[slot] = value;
    },
  };
}

/** FNV-1a with its bits mixed, so that the last ones depend on all. */
export function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
