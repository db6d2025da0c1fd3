import { isObject } from '../../base/json.ts';
/** What comes from a record is unknown until one of these has looked at it. None of them throws. */
export type Json = Readonly<Record<string, unknown>>;
export type Properties = Record<string, unknown>;

export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * An id as text: a text that is not blank, or a whole number. A number of 2^53 and above has lost its last digits when
 * the JSON was read, so that two ids would become one: it is no id.
 */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined;
}

/** The first that is an id. */
export function firstId(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const id = idOf(value);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** A number, also one that the source wrote as text. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || !plainNumber.test(value)) return undefined;
  return Number(value);
}
const plainNumber = /^-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?$/;

/** A number that the source wrote as text, as a number if it loses nothing by it; anything else as it is. */
export function asNumber(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const number = numberOf(value);
  return number === undefined || (Number.isInteger(number) && !Number.isSafeInteger(number)) ? value : number;
}

/** An object, also one that the source wrote as JSON text; undefined for anything else. */
export function objectOfJson(value: unknown): Json | undefined {
  const parsed = valueOfJson(value);
  return isObject(parsed) ? parsed : undefined;
}

/** What a JSON text says; undefined where it is not JSON, or nested too deep. What is no text is already a value. */
export function valueOfJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    const parsed = JSON.parse(value) as unknown;
    return typeof parsed === 'object' && parsed !== null && isTooDeep(parsed) ? undefined : parsed;
  } catch {
    return undefined;
  }
}

/** Deeper than any event may be, so that nothing is refused here that could have been stored. */
export const depthMax = 80;

/** Looks no further than the limit. */
export function isTooDeep(value: object, depth = 0): boolean {
  if (depth >= depthMax) return true;
  for (const each of Object.values(value) as readonly unknown[]) {
    if (typeof each === 'object' && each !== null && isTooDeep(each, depth + 1)) return true;
  }
  return false;
}

/** Kind of a value, for reasons: the same fault always gives the same sentence, and no value gets into it. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return value.trim() === '' ? 'an empty text' : 'a text';
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? 'a number' : 'a number that JSON cannot hold exactly';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Writes a member under any name, also under those that objects treat specially. */
export function setMember(target: Properties, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}
