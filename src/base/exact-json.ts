import { canonicalDecimal } from './decimals.ts';
import type { JsonValue } from './json.ts';

/** Parts of JSON that are missing in the type library (ECMAScript 2026); Node has them since version 21. */
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
 * Matches sixteen digits, an exponent or a negative zero where a number may be: JavaScript may not represent it exactly. Ids in
 * strings, which are full of digits, rarely follow one of these characters. Whole numbers of sixteen digits below 2^53, such as
 * times in µs, are safe. Written for speed.
 */
const atRisk = /[:,[]\s*(?:(?![1-8]\d{15}[,}\]])\d[\d.]{15}|\d[\d.]*[eE]|-(?:0|\d[\d.]{15}|\d[\d.]*[eE]))/;
/** The same for a single number. */
const numberAtRisk = /^(?:\d[\d.]{15}|\d[\d.]*[eE]|-(?:0|\d[\d.]{15}|\d[\d.]*[eE]))/;
const eachAtRisk = /[:,[]\s*(-0[\d.]*|-?\d[\d.]{15,}|-?\d[\d.]*(?=[eE]))([eE][+-]?\d+)?/g;
/** Matches a text that only contains a number. */
const numberAlone = /^\s*[-\d]/;

/** Whether JSON text may contain a number that JavaScript cannot represent. False is certain. */
export function mayHoldExact(text: string): boolean {
  return isAtRisk(text);
}

function isAtRisk(text: string): boolean {
  return numberAlone.test(text) || atRisk.test(text);
}

/**
 * Like JSON.parse, but a number that JavaScript would write differently becomes an opaque value that JSON.stringify writes
 * unchanged: 12345678901234567890, 1e999 and 1E+2 are preserved. For values that are stored, not calculated with.
 */
export function parseExact(text: string): JsonValue {
  return isAtRisk(text) ? parseKeeping(text, isSpelledAsHere) : (JSON.parse(text) as JsonValue);
}

/**
 * Like `parseExact`, but a number that JavaScript can represent becomes an ordinary number, however it is spelled: 1e3 is 1000.
 * For records whose values are read. Lines without unrepresentable numbers cost little more than JSON.parse.
 */
export function parseExactValues(text: string): JsonValue {
  return isAtRisk(text) && mayLoseDigits(text) ? parseKeeping(text, isHeld) : (JSON.parse(text) as JsonValue);
}

function parseKeeping(text: string, isKept: (value: number, source: string) => boolean): JsonValue {
  // Sound: rawJSON objects have no type, and `isObject` excludes them.
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isKept(value, source) ? json.rawJSON(source) : value,
  ) as JsonValue;
}

/** May also return true for text that only resembles such a number. */
function mayLoseDigits(text: string): boolean {
  if (numberAlone.test(text)) return true;
  for (const [, digits = '', exponent = ''] of text.matchAll(eachAtRisk)) {
    const source = digits + exponent;
    if (!isHeld(Number(source), source)) return true;
  }
  return false;
}

/** 1.0 is 1 regardless of the rest of the text, so that an event and a part of it give the same values. */
function isSpelledAsHere(value: number, source: string): boolean {
  return String(value) === source || !numberAtRisk.test(source);
}

/** Whether JSON.stringify writes the same number, with every digit. */
function isHeld(value: number, source: string): boolean {
  const text = String(value);
  return text === source || (Number.isFinite(value) && canonicalDecimal(text) === canonicalDecimal(source));
}

/** Original text of a number that JavaScript cannot represent. */
export function exactNumber(value: unknown): string | undefined {
  return json.isRawJSON(value) ? JSON.stringify(value) : undefined;
}

/**
 * Converts the text of a JSON number to an ordinary number if that keeps every digit, otherwise to an opaque one as in
 * `parseExact`. Returns `undefined` for other text.
 */
export function exactNumberFrom(text: string): unknown {
  if (!jsonNumber.test(text)) return undefined;
  const value = Number(text);
  return isHeld(value, text) ? value : json.rawJSON(text);
}
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
