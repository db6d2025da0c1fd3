import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';

/**
 * State of one property, such that the same events give the same value in whatever order they arrive.
 * - `$set` and `$unset` share one value, decided by event time: the later one wins; for equal times the later arrival.
 * - `$set_once` has a separate value and keeps the earliest; it is visible if nothing was set, or after an older `$unset`.
 *   An empty (null) value is replaced by any other, as clients of this protocol expect.
 * `t` is the event's time in µs. `o` contains the `$set_once` of a register with a `$set` or `$unset`.
 */
export interface Register {
  readonly v: JsonValue;
  readonly t: number;
  readonly k: 'set' | 'once' | 'unset';
  readonly o?: { readonly v: JsonValue; readonly t: number };
}

/** A register has one owner, which modifies it in place: most changes concern persons that stay in memory. */
type OwnRegister = { -readonly [Key in keyof Register]: Register[Key] };

/** By property. A Map, not an object: `__proto__` is a property like any other. */
export type Registers = Map<string, Register>;

interface Timed {
  readonly v: JsonValue;
  readonly t: number;
}

/** Property changes of one event. */
export interface PropertyChanges {
  readonly set: JsonObject | null;
  readonly setOnce: JsonObject | null;
  readonly unset: readonly string[];
}

export const noChanges: PropertyChanges = { set: null, setOnce: null, unset: [] };

/** Returns the names in an `$unset`: a list, or the keys of an object. */
export function unsetNames(value: JsonValue | undefined): readonly string[] {
  if (Array.isArray(value)) return value.filter((name) => typeof name === 'string');
  return isObject(value) ? Object.keys(value) : [];
}

/** Applies the changes of an event at time `t` (µs). Returns whether a register changed. */
export function applyChanges(registers: Registers, changes: PropertyChanges, t: number): boolean {
  let changed = false;
  if (changes.setOnce !== null) {
    for (const key of Object.keys(changes.setOnce)) {
      if (setOnce(registers, key, changes.setOnce[key] ?? null, t)) changed = true;
    }
  }
  if (changes.set !== null) {
    for (const key of Object.keys(changes.set)) {
      if (write(registers, key, changes.set[key] ?? null, t, 'set')) changed = true;
    }
  }
  for (const key of changes.unset) if (write(registers, key, null, t, 'unset')) changed = true;
  return changed;
}

function write(registers: Registers, key: string, v: JsonValue, t: number, k: 'set' | 'unset'): boolean {
  const known: OwnRegister | undefined = registers.get(key);
  if (known === undefined) {
    registers.set(key, { v, t, k });
    return true;
  }
  if (known.k === 'once') known.o = { v: known.v, t: known.t };
  else if (t < known.t || (known.t === t && known.k === k && sameValue(known.v, v))) return false;
  known.v = v;
  known.t = t;
  known.k = k;
  return true;
}

function setOnce(registers: Registers, key: string, v: JsonValue, t: number): boolean {
  const known = registers.get(key);
  if (known === undefined) {
    registers.set(key, { v, t, k: 'once' });
    return true;
  }
  const once = known.k === 'once' ? known : known.o;
  const next = { v, t };
  if (once !== undefined && !goesBefore(next, once)) return false;
  registers.set(key, known.k === 'once' ? { v, t, k: 'once' } : { v: known.v, t: known.t, k: known.k, o: next });
  return true;
}

function goesBefore(next: Timed, known: Timed): boolean {
  if ((next.v === null) !== (known.v === null)) return known.v === null;
  return next.t < known.t;
}

/** Returns the visible value; undefined if the property does not exist. */
export function liveValue({ v, t, k, o }: Register): JsonValue | undefined {
  if (k === 'once') return v;
  const isEmpty = k === 'unset' || v === null;
  if (isEmpty && o !== undefined && o.t > t && o.v !== null) return o.v;
  return k === 'unset' ? undefined : v;
}

/** Returns properties as the API shows them, sorted by name, so that the order of arrival is not visible. */
export function propertiesOf(registers: Registers): JsonObject {
  const live: [string, JsonValue][] = [];
  for (const [key, register] of registers) {
    const value = liveValue(register);
    if (value !== undefined) live.push([key, value]);
  }
  return Object.fromEntries(live.sort(([a], [b]) => (a < b ? -1 : 1))) as JsonObject;
}

/**
 * Merges the registers of two persons: the result is as if all changes had been made to one person, in any order. For equal times the
 * target's value wins.
 */
export function mergeRegisters(target: Registers, other: Registers): void {
  for (const [key, register] of other) {
    const own = target.get(key);
    // A copy: see OwnRegister.
    target.set(key, own === undefined ? { ...register } : joined(own, register));
  }
}

function joined(own: Register, other: Register): Register {
  const once = earlier(onceOf(own), onceOf(other));
  const set = later(own, other);
  if (set === undefined) return once === undefined ? own : { v: once.v, t: once.t, k: 'once' };
  const { v, t, k } = set;
  return once === undefined ? { v, t, k } : { v, t, k, o: once };
}

function onceOf({ v, t, k, o }: Register): Timed | undefined {
  return k === 'once' ? { v, t } : o;
}

function earlier(own: Timed | undefined, other: Timed | undefined): Timed | undefined {
  if (own === undefined || other === undefined) return own ?? other;
  return goesBefore(other, own) ? other : own;
}

/** Returns the later `$set` or `$unset`. */
function later(own: Register, other: Register): Register | undefined {
  if (own.k === 'once') return other.k === 'once' ? undefined : other;
  return other.k !== 'once' && other.t > own.t ? other : own;
}

function sameValue(a: JsonValue, b: JsonValue): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b));
}
