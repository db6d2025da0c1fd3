import { canonicalDecimal } from './decimals.ts';
import { exactNumber } from './exact-json.ts';
import { isObject } from './json.ts';

/** Returns the same text for equal values, regardless of member order and number spelling. The depth must have been checked. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (!isObject(value))
    return canonicalNumber(value) ?? `[${(value as readonly unknown[]).map(canonicalJson).join(',')}]`;
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    if (value[key] !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  }
  return `{${members.join(',')}}`;
}

function canonicalNumber(value: unknown): string | undefined {
  const text = exactNumber(value);
  return text === undefined ? undefined : canonicalDecimal(text);
}
