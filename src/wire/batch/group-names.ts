import { exactNumber } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';

/** Characters of a group key, and of the name of a type. */
export const groupKeyLengthMax = 400;

/** A type or key as text; undefined when it names nothing. */
export function groupNameOf(value: unknown, lengthMax = groupKeyLengthMax): string | undefined {
  const exact = exactNumber(value);
  if (exact !== undefined) return exact;
  if (typeof value === 'number') return value === 0 ? undefined : String(value);
  if (typeof value !== 'string' || value === '' || value.length > lengthMax) return undefined;
  return clean(value);
}

/** The types of which `$groups` names a group, in its order. */
export function groupTypesIn(groups: unknown): readonly string[] {
  if (!isObject(groups)) return [];
  return Object.entries(groups)
    .filter(([name, key]) => groupNameOf(name) !== undefined && groupNameOf(key) !== undefined)
    .map(([name]) => clean(name));
}

function clean(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text).toWellFormed();
}
