export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/** Whether a value is an object with members: not null, an array, or a number kept by `parseExact`. */
export function isObject(value: JsonValue | undefined): value is JsonObject;
export function isObject(value: unknown): value is Readonly<Record<string, unknown>>;
export function isObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  // Kept numbers have no prototype, so most values need no call to the engine.
  return Object.getPrototypeOf(value) !== null || !isRawNumber(value);
}

/** ECMAScript 2026; in Node since version 21 but not yet in the type library. */
const { isRawJSON: isRawNumber } = JSON as unknown as { isRawJSON(value: unknown): boolean };

/** Parses an object from JSON text. Returns `undefined` for anything else. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
