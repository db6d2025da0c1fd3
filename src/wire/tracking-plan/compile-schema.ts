import { compareDecimals, isWholeDecimal } from '../../base/decimals.ts';
import { exactNumber } from '../../base/exact-json.ts';
import { isFormat } from './formats.ts';
import { typesOf, type PropertySchema, type SchemaType } from './plan.ts';

/** The first keyword of a schema that a value does not satisfy. */
export interface Mismatch {
  readonly keyword: string;
  /** Path within the value: `.price`, `[].price`. Empty for the value itself. Indexes are not part of it. */
  readonly path: string;
  /** What the keyword expects, as a noun phrase. */
  readonly expected: string;
  /** The value at the path; `undefined` if it is missing. */
  readonly value: unknown;
}

export type ValueCheck = (value: unknown) => Mismatch | undefined;

/**
 * Compiles a schema once into a function that validates values with every digit of their numbers: ordinary numbers and those that
 * `parseExact` keeps as text. It builds no program text, so a schema of a user is never evaluated.
 */
export function compileSchema(schema: PropertySchema): ValueCheck {
  const checks = [
    typeCheck(schema),
    valuesCheck('enum', schema.enum),
    valuesCheck('const', schema.const === undefined ? undefined : [schema.const]),
    ...numberChecks(schema),
    ...textChecks(schema),
    ...arrayChecks(schema),
    ...objectChecks(schema),
  ].filter((check) => check !== undefined);
  const [only, ...others] = checks;
  if (only === undefined) return () => undefined;
  if (others.length === 0) return only;
  return (value) => {
    for (const check of checks) {
      const found = check(value);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

function mismatch(keyword: string, expected: string, value: unknown, path = ''): Mismatch {
  return { keyword, path, expected, value };
}

/** Returns the type that a schema would name for the value: `integer` for whole numbers. */
export function typeOf(value: unknown): SchemaType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  const digits = exactNumber(value);
  if (digits === undefined) return 'object';
  return isWholeDecimal(digits) ? 'integer' : 'number';
}

function typeCheck(schema: PropertySchema): ValueCheck | undefined {
  const types = typesOf(schema);
  if (types === undefined) return undefined;
  const allowed: ReadonlySet<string> = new Set(types.includes('number') ? [...types, 'integer'] : types);
  const expected = types.join(' or ');
  return (value) => (allowed.has(typeOf(value)) ? undefined : mismatch('type', expected, value));
}

/** Compares numbers by value, however many digits they have. */
function valuesCheck(keyword: string, values: readonly unknown[] | undefined): ValueCheck | undefined {
  if (values === undefined) return undefined;
  const plain: ReadonlySet<unknown> = new Set(values);
  const numbers = values.flatMap((value) => numberText(value) ?? []);
  const expected = shownValues(values);
  return (value) => {
    if (plain.has(value)) return undefined;
    const digits = numberText(value);
    const isEqual = digits !== undefined && numbers.some((each) => compareDecimals(each, digits) === 0);
    return isEqual ? undefined : mismatch(keyword, expected, value);
  };
}

const shownMax = 10;

function shownValues(values: readonly unknown[]): string {
  const shown = values.slice(0, shownMax).map((value) => JSON.stringify(value));
  const more = values.length - shown.length;
  return `${values.length === 1 ? '' : 'one of '}${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Returns the JSON text of a number; `undefined` for other values. */
function numberText(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : exactNumber(value);
}

const bounds = [
  ['minimum', 'a number of at least', (order: number) => order >= 0],
  ['maximum', 'a number of at most', (order: number) => order <= 0],
  ['exclusiveMinimum', 'a number greater than', (order: number) => order > 0],
  ['exclusiveMaximum', 'a number less than', (order: number) => order < 0],
] as const;

function numberChecks(schema: PropertySchema): ValueCheck[] {
  return bounds.flatMap(([keyword, words, holds]) => {
    const bound = numberText(schema[keyword]);
    if (bound === undefined) return [];
    const expected = `${words} ${bound}`;
    return (value: unknown) => {
      const digits = numberText(value);
      if (digits === undefined || holds(order(value, digits, schema[keyword], bound))) return undefined;
      return mismatch(keyword, expected, value);
    };
  });
}

/** Compares as numbers where both have all their digits, which is faster. */
function order(value: unknown, digits: string, bound: unknown, boundDigits: string): number {
  if (typeof value === 'number' && typeof bound === 'number') return value - bound;
  return compareDecimals(digits, boundDigits);
}

function textChecks({ minLength, maxLength, format }: PropertySchema): ValueCheck[] {
  const checks: ValueCheck[] = [];
  if (minLength !== undefined) {
    const expected = `a text of at least ${minLength} characters`;
    checks.push((value) =>
      typeof value !== 'string' || charsOf(value, minLength) >= minLength
        ? undefined
        : mismatch('minLength', expected, value),
    );
  }
  if (maxLength !== undefined) {
    const expected = `a text of at most ${maxLength} characters`;
    checks.push((value) =>
      typeof value !== 'string' || charsOf(value, maxLength) <= maxLength
        ? undefined
        : mismatch('maxLength', expected, value),
    );
  }
  if (format !== undefined) {
    const expected = `a text in the format ${format}`;
    checks.push((value) =>
      typeof value !== 'string' || isFormat[format](value) ? undefined : mismatch('format', expected, value),
    );
  }
  return checks;
}

/** Counts characters as JSON Schema does, by code point; exactly only if the result may depend on it. */
function charsOf(text: string, limit: number): number {
  if (text.length <= limit / 2 || text.length > limit * 2 + 1) return text.length;
  let chars = 0;
  for (const _ of text) chars += 1;
  return chars;
}

function arrayChecks({ items, minItems, maxItems }: PropertySchema): ValueCheck[] {
  const checks: ValueCheck[] = [];
  if (minItems !== undefined) {
    const expected = `a list of at least ${minItems} items`;
    checks.push((value) =>
      !Array.isArray(value) || value.length >= minItems ? undefined : mismatch('minItems', expected, value),
    );
  }
  if (maxItems !== undefined) {
    const expected = `a list of at most ${maxItems} items`;
    checks.push((value) =>
      !Array.isArray(value) || value.length <= maxItems ? undefined : mismatch('maxItems', expected, value),
    );
  }
  if (items !== undefined) {
    const each = compileSchema(items);
    checks.push((value) => (Array.isArray(value) ? firstWithin(value, each) : undefined));
  }
  return checks;
}

function firstWithin(values: readonly unknown[], check: ValueCheck): Mismatch | undefined {
  for (const value of values) {
    const found = check(value);
    if (found !== undefined) return { ...found, path: `[]${found.path}` };
  }
  return undefined;
}

function objectChecks({ properties = {}, required = [], additionalProperties }: PropertySchema): ValueCheck[] {
  const known = new Map(Object.entries(properties).map(([name, schema]) => [name, compileSchema(schema)]));
  const checks: ValueCheck[] = [];
  for (const name of required) {
    checks.push((value) =>
      !isObjectValue(value) || Object.hasOwn(value, name)
        ? undefined
        : mismatch('required', 'a value', undefined, `.${name}`),
    );
  }
  if (known.size > 0 || additionalProperties === false) {
    checks.push((value) => (isObjectValue(value) ? firstMember(value, known, additionalProperties) : undefined));
  }
  return checks;
}

function firstMember(
  value: Readonly<Record<string, unknown>>,
  known: ReadonlyMap<string, ValueCheck>,
  additionalProperties: boolean | undefined,
): Mismatch | undefined {
  for (const name of Object.keys(value)) {
    const check = known.get(name);
    const found = check?.(value[name]);
    if (found !== undefined) return { ...found, path: `.${name}${found.path}` };
    if (check === undefined && additionalProperties === false) {
      return mismatch('additionalProperties', 'no such property', value[name], `.${name}`);
    }
  }
  return undefined;
}

function isObjectValue(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeOf(value) === 'object';
}
