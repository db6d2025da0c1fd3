import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { SettingsError } from '../../plugin.ts';
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
