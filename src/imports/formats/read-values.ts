import { exactNumber, exactNumberFrom, parseExactValues } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { isPlaceholderId } from '../../base/placeholder-ids.ts';

/** What comes from a record is unknown until one of these has looked at it. None of them throws. */
export type Json = Readonly<Record<string, unknown>>;
export type Properties = Record<string, unknown>;

export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An id as text: a text that is not blank, or a whole number with all of its digits. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (typeof value === 'number') return wholeNumber.test(String(value)) ? String(value) : undefined;
  const exact = typeof value === 'object' ? exactNumber(value) : undefined;
  return exact !== undefined && wholeNumber.test(exact) ? exact : undefined;
}
const wholeNumber = /^(?:0|-?[1-9]\d{0,199})$/;

/** The first that is an id. */
export function firstId(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const id = idOf(value);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** A number to calculate with, also one that the source wrote as text; undefined where it does not hold every digit. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || !plainNumber.test(value)) return undefined;
  const number = withoutZeros(value);
  return typeof number === 'number' ? number : undefined;
}
const plainNumber = /^-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?$/;

/** A number to be stored, with all of its digits, also one that the source wrote as text; undefined for anything else. */
export function exactNumberOf(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'string') return plainNumber.test(value) ? withoutZeros(value) : undefined;
  return exactNumber(value) === undefined ? undefined : value;
}

/** A number that the source wrote as text, as a number with all of its digits; anything else as it is. */
export function asNumber(value: unknown): unknown {
  return exactNumberOf(value) ?? value;
}

/** Of a plain number's text; JSON has no zeros at the front. */
function withoutZeros(text: string): unknown {
  return exactNumberFrom(text.replace(/^(-?)0+(?=\d)/, '$1'));
}

/** An object, also one that the source wrote as JSON text; undefined for anything else. */
export function objectOfJson(value: unknown): Json | undefined {
  const parsed = valueOfJson(value);
  // PHP's empty map.
  if (Array.isArray(parsed) && parsed.length === 0) return {};
  return isObject(parsed) ? parsed : undefined;
}

/** What a JSON text says; undefined where it is not JSON, or nested too deep. What is no text is already a value. */
export function valueOfJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    const parsed = parseExactValues(value);
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
  if (typeof value === 'number') return 'a number';
  if (typeof value !== 'object') return `a ${typeof value}`;
  return exactNumber(value) === undefined ? 'an object' : 'a number beyond what can be calculated with';
}

/** Writes a member under any name, also under those that objects treat specially. */
export function setMember(target: Properties, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

export type ReadMember = (record: Json) => unknown;

/** Finds the value at a path such as `properties.time`; undefined where there is none. */
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

/** What every object inherits is no member of it. */
function memberOf(key: string): ReadMember {
  if (key in Object.prototype) return (object) => (Object.hasOwn(object, key) ? object[key] : undefined);
  return (object) => object[key];
}

/** The one of `string_value`, `int_value`, `float_value` and `double_value` that is there; JSON exports write integers as text. */
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

/** The first that is an id of somebody; ids such as `anonymous` or `null`, which many share, are passed over. */
export function personId(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const id = idOf(value);
    if (id !== undefined && !isPlaceholderId(id)) return id;
  }
  return undefined;
}
