import { exactNumber } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';

/** Maximum characters of a group key and of a type name. */
export const groupKeyLengthMax = 400;

/** Converts a group type or key to text. Returns `undefined` if it does not name anything. */
export function groupNameOf(value: unknown, lengthMax = groupKeyLengthMax): string | undefined {
  const exact = exactNumber(value);
  if (exact !== undefined) return exact;
  if (typeof value === 'number') return value === 0 ? undefined : String(value);
  if (typeof value !== 'string' || value === '' || value.length > lengthMax) return undefined;
  return clean(value);
}

/** Returns the types for which `$groups` names a group, in its order. */
export function groupTypesIn(groups: unknown): readonly string[] {
  if (!isObject(groups)) return [];
  return Object.entries(groups)
    .filter(([name, key]) => groupNameOf(name) !== undefined && groupNameOf(key) !== undefined)
    .map(([name]) => clean(name));
}

function clean(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text).toWellFormed();
}
