import { parseExactValues } from '../../../base/exact-json.ts';

/** Returns the list, also from its JSON text; `undefined` for anything else. */
export function listOfJson(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string' || !value.trimStart().startsWith('[')) return undefined;
  try {
    const parsed: unknown = parseExactValues(value);
    return Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
