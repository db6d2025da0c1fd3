import type { Payload } from '../guest/lib/wire.ts';

/** All values from an isolate belong to the plugin, regardless of our code in it: types and sizes are checked. */

/** Limit of one text or piece of data per call, in bytes or UTF-16 units. */
export const dataMax = 33_554_432;

export function textArgument(value: unknown, name: string, charactersMax: number): string {
  if (typeof value !== 'string') throw new TypeError(`expected ${name} to be text, got ${kindOf(value)}`);
  if (value.length > charactersMax) {
    throw new RangeError(`expected ${name} of at most ${charactersMax} characters, got ${value.length}`);
  }
  return value;
}

export function wholeNumberArgument(value: unknown, name: string, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    throw new RangeError(`expected ${name} to be a whole number from ${min} to ${max}, got ${shown(value)}`);
  }
  return value;
}

export function numberArgument(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new TypeError(`expected ${name} to be a number, got ${shown(value)}`);
  }
  return value;
}

export function recordArgument(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError(`expected ${name} to be an object, got ${kindOf(value)}`);
  }
  return value as Readonly<Record<string, unknown>>;
}

export function listArgument(value: unknown, name: string, itemsMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`expected ${name} to be a list, got ${kindOf(value)}`);
  if (value.length > itemsMax)
    throw new RangeError(`expected ${name} of at most ${itemsMax} items, got ${value.length}`);
  return value;
}

export function isPayload(value: unknown): value is Payload {
  if (typeof value !== 'object' || value === null) return false;
  return 'text' in value ? typeof value.text === 'string' : 'base64' in value && typeof value.base64 === 'string';
}

export function dataArgument(value: unknown, name: string, bytesMax = dataMax): Buffer {
  if (!isPayload(value)) throw new TypeError(`expected ${name} to be text or bytes, got ${kindOf(value)}`);
  const size = 'text' in value ? value.text.length : (value.base64.length * 3) / 4;
  if (size > bytesMax) throw new RangeError(`expected ${name} of at most ${bytesMax} bytes, got ${Math.floor(size)}`);
  return 'text' in value ? Buffer.from(value.text, 'utf8') : Buffer.from(value.base64, 'base64');
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : kindOf(value);
}
