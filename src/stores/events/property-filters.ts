import { exactNumber, parseExact } from '../../base/exact-json.ts';
import { operatorValues, propertyOperators, type PropertyFilter, type PropertyOperator } from './filters.ts';

const filtersMax = 20;
const valuesMax = 100;

/**
 * Parses the JSON array of property filters of a query string. Returns a message for users if it is invalid.
 * Numbers and booleans are compared by their JSON text, to the last digit.
 */
export function parsePropertyFilters(text: string): PropertyFilter[] | string {
  let parsed: unknown;
  try {
    parsed = parseExact(text);
  } catch {
    return 'Expected a JSON array of {key, value, operator}, got something that is not JSON.';
  }
  if (!Array.isArray(parsed)) return 'Expected a JSON array of {key, value, operator}.';
  return readPropertyFilters(parsed);
}

/** Like `parsePropertyFilters`, for an array that is parsed; numbers with many digits as base/exact-json.ts returns them. */
export function readPropertyFilters(parsed: readonly unknown[]): PropertyFilter[] | string {
  if (parsed.length > filtersMax) return `Expected at most ${filtersMax} filters, got ${parsed.length}.`;
  const filters: PropertyFilter[] = [];
  for (const [i, entry] of parsed.entries()) {
    const filter = parseFilter(entry);
    if (typeof filter === 'string') return `Filter ${i}: ${filter}`;
    filters.push(filter);
  }
  return filters;
}

function parseFilter(entry: unknown): PropertyFilter | string {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return 'expected an object.';
  const { key, value, operator = 'exact' } = entry as Readonly<Record<string, unknown>>;
  if (typeof key !== 'string' || key === '') return 'expected "key" to be the name of a property.';
  if (!isOperator(operator)) return `expected "operator" to be one of ${propertyOperators.join(', ')}.`;
  const needs = operatorValues[operator];
  if (needs === 'none') return { key, operator, values: [] };
  if (needs === 'number') return parseComparison(key, operator, value);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > valuesMax) return `expected "value" to have 1 to ${valuesMax} values.`;
  const values: string[] = [];
  for (const item of list) {
    if (typeof item === 'string') values.push(item);
    else if (isScalar(item)) values.push(JSON.stringify(item));
    else return 'expected "value" to be a string, a number, a boolean, null or an array of those.';
  }
  return { key, operator, values };
}

function parseComparison(key: string, operator: PropertyOperator, value: unknown): PropertyFilter | string {
  const text = typeof value === 'string' ? value.trim() : isScalar(value) ? JSON.stringify(value) : '';
  if (!/^-?\d{1,58}(\.\d{1,18})?$/.test(text)) {
    return 'expected "value" to be a number of at most 58 digits before the point and 18 after it.';
  }
  return { key, operator, values: [text] };
}

function isScalar(item: unknown): boolean {
  return typeof item === 'number' || typeof item === 'boolean' || item === null || exactNumber(item) !== undefined;
}

function isOperator(value: unknown): value is PropertyOperator {
  return (propertyOperators as readonly unknown[]).includes(value);
}
