import { exactNumber, exactNumberFrom, parseExactValues } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { isPlaceholderId } from '../../base/placeholder-ids.ts';

/** Values from records are unknown until one of these functions has checked them. None of them throws. */
export type Json = Readonly<Record<string, unknown>>;
export type Properties = Record<string, unknown>;

export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns an id as text: a text that is not blank, or a whole number with all of its digits. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (typeof value === 'number') return wholeNumber.test(String(value)) ? String(value) : undefined;
  const exact = typeof value === 'object' ? exactNumber(value) : undefined;
  return exact !== undefined && wholeNumber.test(exact) ? exact : undefined;
}
const wholeNumber = /^(?:0|-?[1-9]\d{0,199})$/;

/** Returns the first value that is an id. */
export function firstId(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const id = idOf(value);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** Returns a number for calculations, also from text; `undefined` if it cannot represent every digit. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || !plainNumber.test(value)) return undefined;
  const number = withoutZeros(value);
  return typeof number === 'number' ? number : undefined;
}
const plainNumber = /^-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?$/;

/** Returns a number to store, with all of its digits, also from text; `undefined` for anything else. */
export function exactNumberOf(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'string') return plainNumber.test(value) ? withoutZeros(value) : undefined;
  return exactNumber(value) === undefined ? undefined : value;
}

/** Converts a number written as text to a number with all of its digits. Other values stay. */
export function asNumber(value: unknown): unknown {
  return exactNumberOf(value) ?? value;
}

/** Parses the text of a plain number; JSON does not allow leading zeros. */
function withoutZeros(text: string): unknown {
  return exactNumberFrom(text.replace(/^(-?)0+(?=\d)/, '$1'));
}

/** Returns an object, also from JSON text; `undefined` for anything else. */
export function objectOfJson(value: unknown): Json | undefined {
  const parsed = valueOfJson(value);
  // PHP encodes an empty map as an empty list.
  if (Array.isArray(parsed) && parsed.length === 0) return {};
  return isObject(parsed) ? parsed : undefined;
}

/** Parses JSON text; `undefined` if it is invalid or nested too deeply. Other values stay. */
export function valueOfJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    const parsed = parseExactValues(value);
    return typeof parsed === 'object' && parsed !== null && isTooDeep(parsed) ? undefined : parsed;
  } catch {
    return undefined;
  }
}

/** Deeper than any event may be, so nothing is rejected here that could be stored. */
export const depthMax = 80;

/** Stops at the limit. */
export function isTooDeep(value: object, depth = 0): boolean {
  if (depth >= depthMax) return true;
  for (const each of Object.values(value) as readonly unknown[]) {
    if (typeof each === 'object' && each !== null && isTooDeep(each, depth + 1)) return true;
  }
  return false;
}

/** Names the kind of a value in reasons: the same fault always gives the same sentence, and no value appears in it. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return value.trim() === '' ? 'an empty text' : 'a text';
  if (typeof value === 'number') return 'a number';
  if (typeof value !== 'object') return `a ${typeof value}`;
  return exactNumber(value) === undefined ? 'an object' : 'a number beyond what can be calculated with';
}

/** Sets a member under any name, including names that objects treat specially. */
export function setMember(target: Properties, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

export type ReadMember = (record: Json) => unknown;

/** Returns a function that reads the value at a path such as `properties.time`. */
export function memberAt(path: string): ReadMember {
  const [first = '', ...rest] = path.split('.');
  const outer = memberOf(first);
  if (rest.length === 0) return outer;
  const inner = memberAt(rest.join('.'));
  return (record) => {
    const object = outer(record);
    return isObject(object) ? inner(object) : undefined;
  };
}

/** Inherited properties are not members. */
function memberOf(key: string): ReadMember {
  if (key in Object.prototype) return (object) => (Object.hasOwn(object, key) ? object[key] : undefined);
  return (object) => object[key];
}

/**
 * Returns whichever of `string_value`, `int_value`, `float_value` and `double_value` is set; JSON exports write integers as text.
 */
export function valueOfPair(value: unknown): unknown {
  if (!isObject(value)) return value;
  const text = value['string_value'];
  if (text !== undefined && text !== null) return text;
  for (const type of ['int_value', 'double_value', 'float_value']) {
    const number = value[type];
    if (number !== undefined && number !== null) return asNumber(number);
  }
  return undefined;
}

/** Returns the first id that is not a placeholder such as `anonymous` or `null`, which many share. */
export function personId(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const id = idOf(value);
    if (id !== undefined && !isPlaceholderId(id)) return id;
  }
  return undefined;
}
