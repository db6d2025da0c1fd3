export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/** Whether a value is an object with members: neither null, nor an array, nor a number that `parseExact` kept as it was written. */
export function isObject(value: JsonValue | undefined): value is JsonObject;
export function isObject(value: unknown): value is Readonly<Record<string, unknown>>;
export function isObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  // Numbers that were kept have no prototype: of most values the engine need not be asked.
  return Object.getPrototypeOf(value) !== null || !isRawNumber(value);
}

/** ECMAScript 2026; Node has it since version 21, the type library does not know it yet. */
const { isRawJSON: isRawNumber } = JSON as unknown as { isRawJSON(value: unknown): boolean };

/** The object that a text is as JSON; undefined for anything else. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
