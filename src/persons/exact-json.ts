import { isObject, type JsonObject, type JsonValue } from '../base/json.ts';

/** Parts of JSON that the type library does not know yet (ECMAScript 2026); Node has them since version 21. */
interface SourceTextJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
}
const json = JSON as unknown as SourceTextJson;

/**
 * Sixteen digits or an exponent where a number may stand: a JavaScript number may not hold it. Ids in strings, which are full
 * of both, rarely stand after one of these characters.
 */
const atRisk = /(?:^|[:,[])\s*-?(?:\d[\d.]{15}|\d[\d.]*[eE])/;

/**
 * As JSON.parse, but a number that JavaScript would change becomes an opaque value which JSON.stringify writes as it was:
 * 12345678901234567890 and 1e999 pass through untouched. For values that are stored, not calculated with.
 */
export function parseExact(text: string): JsonValue {
  if (!atRisk.test(text)) return JSON.parse(text) as JsonValue;
  // Sound: rawJSON objects have no type of their own, and everything that looks into values asks `exactNumber` first.
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? json.rawJSON(source) : value,
  ) as JsonValue;
}

/** Text of a number as it was sent, if it is one that JavaScript cannot hold. */
export function exactNumber(value: unknown): string | undefined {
  return json.isRawJSON(value) ? JSON.stringify(value) : undefined;
}

/** As `isObject`, of what `parseExact` gives: there a number may be an object to JavaScript, and none to anybody else. */
export function isExactObject(value: JsonValue | undefined): value is JsonObject {
  return isObject(value) && exactNumber(value) === undefined;
}
