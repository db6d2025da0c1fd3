import { parseExactValues } from '../../../base/exact-json.ts';
import { isObject } from '../../../base/json.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';

const changesMax = 5;
const valueCharsMax = 120;

/**
 * Where two texts of properties differ, one phrase each; none: they say the same, in whatever order and spelling. Values are
 * named by their path: `order.items[3].price`.
 */
export function propertyChanges(expected: string, stored: string): readonly string[] {
  const changes: string[] = [];
  let there: unknown;
  try {
    there = parseExactValues(stored);
  } catch {
    return ['properties that are JSON, stored is something else'];
  }
  compare('', parseExactValues(expected), there, changes);
  if (changes.length <= changesMax) return changes;
  return [...changes.slice(0, changesMax), `${changes.length - changesMax} more values`];
}

function compare(path: string, expected: unknown, stored: unknown, changes: string[]): void {
  if (canonicalJson(expected) === canonicalJson(stored)) return;
  if (Array.isArray(expected) && Array.isArray(stored)) {
    for (let index = 0; index < Math.max(expected.length, stored.length); index += 1) {
      compare(`${path}[${index}]`, expected[index], stored[index], changes);
    }
  } else if (isObject(expected) && isObject(stored)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(stored)])) {
      compare(path === '' ? key : `${path}.${key}`, memberOf(expected, key), memberOf(stored, key), changes);
    }
  } else changes.push(phrase(path, expected, stored));
}

function memberOf(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function phrase(path: string, expected: unknown, stored: unknown): string {
  if (expected === undefined) return `no property ${path}, stored is ${shown(stored)}`;
  const property = `the property ${path} ${shown(expected)}`;
  return stored === undefined ? `${property}, which is not stored` : `${property}, stored is ${shown(stored)}`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return text.length > valueCharsMax ? `${text.slice(0, valueCharsMax)}…` : text;
}
