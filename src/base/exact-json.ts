import { canonicalDecimal } from './decimals.ts';
import type { JsonValue } from './json.ts';

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
 * Sixteen digits, an exponent or a negative zero where a number may stand: a JavaScript number may not hold it. Ids in strings,
 * which are full of digits, rarely stand after one of these characters. Whole numbers of sixteen digits below 2^53, such as times in µs, are no risk. Written so that the engine is fast at it.
 */
const atRisk = /[:,[]\s*(?:(?![1-8]\d{15}[,}\]])\d[\d.]{15}|\d[\d.]*[eE]|-(?:0|\d[\d.]{15}|\d[\d.]*[eE]))/;
/** The same of a number alone. */
const numberAtRisk = /^(?:\d[\d.]{15}|\d[\d.]*[eE]|-(?:0|\d[\d.]{15}|\d[\d.]*[eE]))/;
const eachAtRisk = /[:,[]\s*(-0[\d.]*|-?\d[\d.]{15,}|-?\d[\d.]*(?=[eE]))([eE][+-]?\d+)?/g;
/** A text that is nothing but a number. */
const numberAlone = /^\s*[-\d]/;

/** Whether a text of JSON may hold a number that JavaScript does not; false: it does not. */
export function mayHoldExact(text: string): boolean {
  return isAtRisk(text);
}

function isAtRisk(text: string): boolean {
  return numberAlone.test(text) || atRisk.test(text);
}

/**
 * As JSON.parse, but a number that JavaScript would write differently becomes an opaque value which JSON.stringify writes as
 * it was: 12345678901234567890, 1e999 and 1E+2 pass through untouched. For values that are stored, not calculated with.
 */
export function parseExact(text: string): JsonValue {
  return isAtRisk(text) ? parseKeeping(text, isSpelledAsHere) : (JSON.parse(text) as JsonValue);
}

/**
 * As `parseExact`, but a number that JavaScript holds is an ordinary number, however it is spelled: 1e3 is 1000. For records,
 * which are looked into. Lines without a number that it cannot hold cost little more than JSON.parse.
 */
export function parseExactValues(text: string): JsonValue {
  return isAtRisk(text) && mayLoseDigits(text) ? parseKeeping(text, isHeld) : (JSON.parse(text) as JsonValue);
}

function parseKeeping(text: string, isKept: (value: number, source: string) => boolean): JsonValue {
  // Sound: rawJSON objects have no type of their own, and `isObject` takes them for what they stand for.
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isKept(value, source) ? json.rawJSON(source) : value,
  ) as JsonValue;
}

/** Also true for a text that looks like one. */
function mayLoseDigits(text: string): boolean {
  if (numberAlone.test(text)) return true;
  for (const [, digits = '', exponent = ''] of text.matchAll(eachAtRisk)) {
    const source = digits + exponent;
    if (!isHeld(Number(source), source)) return true;
  }
  return false;
}

/** 1.0 is 1, whatever else the text holds: an event gives the same values as a part of it does. */
function isSpelledAsHere(value: number, source: string): boolean {
  return String(value) === source || !numberAtRisk.test(source);
}

/** Whether what JSON.stringify writes is the same number to the last digit. */
function isHeld(value: number, source: string): boolean {
  const text = String(value);
  return text === source || (Number.isFinite(value) && canonicalDecimal(text) === canonicalDecimal(source));
}

/** Text of a number as it was sent, if it is one that JavaScript cannot hold. */
export function exactNumber(value: unknown): string | undefined {
  return json.isRawJSON(value) ? JSON.stringify(value) : undefined;
}

/**
 * A number from its text (a JSON number, else undefined): an ordinary one where that holds every digit, else an opaque one as
 * of `parseExact`.
 */
export function exactNumberFrom(text: string): unknown {
  if (!jsonNumber.test(text)) return undefined;
  const value = Number(text);
  return isHeld(value, text) ? value : json.rawJSON(text);
}
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
