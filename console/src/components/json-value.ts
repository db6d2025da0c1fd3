import { exactDigits } from '../api/exact-json.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && exactDigits(value) === undefined;
}

/** Formats a scalar as JSON. */
export function scalarText(value: unknown): string {
  return exactDigits(value) ?? JSON.stringify(value) ?? 'undefined';
}

/** Compares two JSON values, ignoring key order. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (isJsonObject(left) && isJsonObject(right)) {
    const keys = Object.keys(left);
    const same = (key: string): boolean => Object.hasOwn(right, key) && sameJson(left[key], right[key]);
    return keys.length === Object.keys(right).length && keys.every(same);
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => sameJson(item, right[index]));
  }
  return scalarText(left) === scalarText(right);
}
