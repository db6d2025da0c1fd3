import type { JsonValue } from '../../base/json.ts';

export const keyCharsMax = 512;
const valueBytesMax = 1_000_000;

/**
 * Returns the stored form of a key: PostgreSQL refuses NUL and halves of surrogate pairs, so these are escaped, together with text
 * that looks like an escape.
 * @throws Error when the key is empty or too long
 */
export function storedKey(key: string): string {
  if (key === '') throw new Error('storage: expected a key, got an empty text');
  if (key.length > keyCharsMax) {
    throw new Error(`storage: expected a key of at most ${keyCharsMax} characters, got: ${key.length}`);
  }
  return key.replaceAll(/[\\\0]|\p{Surrogate}/gu, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Returns the stored form of a value. @throws Error if it is too large or not JSON */
export function storedValue(key: string, value: JsonValue): string {
  // JSON.stringify returns undefined for functions and similar values, whatever the type says.
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new Error(`storage: expected a JSON value for ${shown(key)}, got: ${typeof value}`);
  // A character takes at most three bytes of UTF-8, so most texts need no counting.
  const bytes = text.length * 3 <= valueBytesMax ? 0 : Buffer.byteLength(text);
  if (bytes > valueBytesMax) {
    throw new Error(
      `storage: expected a value of at most ${valueBytesMax} bytes of JSON for ${shown(key)}, got: ${bytes}`,
    );
  }
  return text;
}

export function parseStored(text: string): JsonValue {
  // Sound: only storedValue writes the column.
  return JSON.parse(text) as JsonValue;
}

/** Returns the sum for `increment`. @throws Error if either is not a number that can be stored */
export function sumOf(key: string, value: JsonValue, by: number): number {
  if (typeof value !== 'number') {
    throw new Error(`storage: expected a number at ${shown(key)} to add to, got: ${kindOf(value)}`);
  }
  if (!Number.isFinite(by) || !Number.isFinite(value + by)) {
    throw new Error(`storage: expected a finite number to add at ${shown(key)}, got: ${by}`);
  }
  return value + by;
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}

function shown(key: string): string {
  return JSON.stringify(key.length > 60 ? `${key.slice(0, 60)}…` : key);
}
