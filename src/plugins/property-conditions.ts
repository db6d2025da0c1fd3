import { isObject, type JsonObject, type JsonValue } from '../base/json.ts';
import { conditionOperators, type ConditionOperator } from '../wire/contract/event-filter.ts';
import { SettingsError } from './plugin.ts';
import { propertyPath, readPath } from './property-path.ts';

export type Condition = (properties: JsonObject) => boolean;
/** Tests a property's value; `undefined` means that the property is missing. */
export type Test = (value: JsonValue | undefined) => boolean;
/** Operators by name; each creates its test once. */
export type Operators = Readonly<Record<string, (expected: JsonValue | undefined) => Test>>;

/** Comparisons with a number, shared by all filters; a value that is not a number matches none. */
export const comparisons = {
  gt: comparison((value, bound) => value > bound),
  gte: comparison((value, bound) => value >= bound),
  lt: comparison((value, bound) => value < bound),
  lte: comparison((value, bound) => value <= bound),
} satisfies Operators;

/** Operators of `readConditions`. Values are compared as text, except by `gt` and `lt`. */
const operators: Readonly<Record<ConditionOperator, Operators[string]>> = {
  is: (expected) => {
    const allowed = new Set(listOf(expected).map(asText));
    return (value) => value !== undefined && allowed.has(asText(value));
  },
  is_not: (expected) => {
    const refused = new Set(listOf(expected).map(asText));
    return (value) => value === undefined || !refused.has(asText(value));
  },
  contains: (expected) => {
    const parts = listOf(expected).map((part) => asText(part).toLowerCase());
    return (value) => value !== undefined && parts.some((part) => asText(value).toLowerCase().includes(part));
  },
  not_contains: (expected) => {
    const parts = listOf(expected).map((part) => asText(part).toLowerCase());
    return (value) => value === undefined || !parts.some((part) => asText(value).toLowerCase().includes(part));
  },
  is_set: () => (value) => value !== undefined && value !== null,
  is_not_set: () => (value) => value === undefined || value === null,
  gt: comparisons.gt,
  lt: comparisons.lt,
};
/** For hints. */
export const operatorNames = conditionOperators.join(', ');
const operatorsWithoutValue = new Set(['is_set', 'is_not_set']);

/**
 * Reads a list of `{property, operator, value}`; the default operator is `is`, and a list of values matches any of them. `where` names
 * the list in errors. @throws SettingsError
 */
export function readConditions(where: string, given: JsonValue | undefined): Condition[] {
  return listOf(given).map((entry, index) => {
    const at = `${where}, entry ${index + 1}`;
    if (!isObject(entry)) throw new SettingsError(`${at}: expected an object with "property" and "operator"`);
    const { operator = 'is', value } = entry;
    const property = conditionProperty(at, entry['property']);
    const makeTest = conditionOperator(at, operators, operator);
    if (value === undefined && !operatorsWithoutValue.has(String(operator))) {
      throw new SettingsError(`${at}: "value" is missing`);
    }
    if ((operator === 'gt' || operator === 'lt') && Number.isNaN(asNumber(value))) {
      throw new SettingsError(`${at}: "value" must be a number`);
    }
    return conditionOn(property, makeTest(value));
  });
}

/** Returns a condition that holds if all conditions hold, or any of them. Without conditions it always holds. */
export function combineConditions(conditions: readonly Condition[], match: 'all' | 'any'): Condition {
  if (match === 'all' || conditions.length === 0) return (properties) => allHold(conditions, properties);
  return (properties) => conditions.some((condition) => condition(properties));
}

/** Reads the property's name of a condition. `where` names the condition in the error. */
export function conditionProperty(where: string, property: JsonValue | undefined): string {
  if (typeof property !== 'string' || property === '') throw new SettingsError(`${where}: "property" is missing`);
  return property;
}

export function conditionOperator(where: string, operators: Operators, operator: JsonValue | undefined) {
  const make = typeof operator === 'string' && Object.hasOwn(operators, operator) ? operators[operator] : undefined;
  if (make === undefined) {
    throw new SettingsError(`${where}: "operator" must be one of ${Object.keys(operators).join(', ')}`);
  }
  return make;
}

/** Applies a test to a property, which may be a path. */
export function conditionOn(property: string, test: Test): Condition {
  const path = propertyPath(property);
  return (properties) => test(readPath(properties, path));
}

export function allHold(conditions: readonly Condition[], properties: JsonObject): boolean {
  for (const condition of conditions) if (!condition(properties)) return false;
  return true;
}

/** Returns a number for a number or text that contains one, otherwise NaN. */
export function asNumber(value: JsonValue | undefined): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
}

function comparison(holds: (value: number, bound: number) => boolean): Operators[string] {
  return (expected) => {
    const bound = asNumber(expected);
    return (value) => holds(asNumber(value), bound);
  };
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function asText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
