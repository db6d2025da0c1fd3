import { parseExactValues } from '../../../base/exact-json.ts';
import { isObject } from '../../../base/json.ts';
import { FormatOptionsError } from '../format.ts';
import { exactNumberOf, type Json, valueOfJson } from '../read-values.ts';

/** Finds a value in a record. */
export interface ValueRule {
  readonly read: (record: Json) => unknown;
  /** Columns that it uses whole, so that they no longer count as "other" columns; it reads nothing else. */
  readonly columns: readonly string[];
  /** Its form, if it is just a path or a concatenation of texts and paths. */
  readonly form?: RuleForm;
}

type RuleForm =
  | { readonly path: string }
  | { readonly pieces: readonly ({ readonly text: string } | { readonly path: string })[] };

const kinds = ['path', 'constant', 'template', 'first'] as const;
const modifiers = ['default', 'table', 'else', 'type'] as const;
const types = ['text', 'number', 'boolean', 'json'] as const;
type ValueType = (typeof types)[number];

/** Throws FormatOptionsError; `at` is the place of the rule in the mapping. */
export function refuse(at: string, expected: string, got: unknown): never {
  const text = got === undefined ? 'nothing' : (JSON.stringify(got) ?? typeof got).slice(0, 80);
  throw new FormatOptionsError(`mapping: ${at}: expected ${expected}, got ${text}`);
}

/**
 * Parses a rule: `"column"` or `"path.to.it"`, `"{a}-{b}"`, or an object with one of path, constant, template, first (a list of
 * rules), and any of default, table, else, type. Throws FormatOptionsError.
 */
export function valueRule(rule: unknown, at: string, more: readonly string[] = []): ValueRule {
  if (typeof rule === 'string') return rule.includes('{') ? template(rule, at) : path(rule, at);
  if (!isObject(rule)) refuse(at, 'a column, a template or an object', rule);
  const known: readonly string[] = [...kinds, ...modifiers, ...more];
  const unknown = Object.keys(rule).find((key) => !known.includes(key));
  if (unknown !== undefined) refuse(at, `only ${known.join(', ')}`, unknown);
  const given = kinds.filter((kind) => rule[kind] !== undefined);
  const [kind] = given;
  if (kind === undefined || given.length > 1) refuse(at, `one of ${kinds.join(', ')}`, given);
  return modified(base(kind, rule[kind], `${at}.${kind}`), rule, at);
}

function base(kind: (typeof kinds)[number], value: unknown, at: string): ValueRule {
  switch (kind) {
    case 'path':
      return path(value, at);
    case 'template':
      return template(value, at);
    case 'first':
      return first(value, at);
    case 'constant':
      return { read: () => value, columns: [] };
  }
}

/** A column named like the whole path takes precedence over the nested value. */
function path(text: unknown, at: string): ValueRule {
  if (typeof text !== 'string' || text === '') refuse(at, 'the name of a column or a path to it', text);
  const steps = text.split('.');
  const form = { path: text };
  if (steps.length === 1) return { read: (record) => member(record, text), columns: [text], form };
  return {
    form,
    read: (record) => {
      const whole = member(record, text);
      if (whole !== undefined) return whole;
      let value: unknown = record;
      for (const step of steps) value = member(withinText(value), step);
      return value;
    },
    columns: [text],
  };
}

/** Warehouses and CSV contain objects and lists as JSON text: a path continues into it. */
function withinText(value: unknown): unknown {
  return typeof value === 'string' && /^\s*[[{]/.test(value) ? valueOfJson(value) : value;
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  const found = (value as Json)[key];
  return found === null || found === '' ? undefined : found;
}

/** Gives no value if one of the columns is missing: an incomplete id is not an id. */
function template(text: unknown, at: string): ValueRule {
  if (typeof text !== 'string') refuse(at, 'a text such as "{a}-{b}"', text);
  const pieces = text.split(/\{([^{}]*)\}/);
  if (pieces.some((piece, index) => index % 2 === 0 && /[{}]/.test(piece))) refuse(at, 'a } for every {', text);
  const rules = pieces.map((piece, index) => (index % 2 === 0 ? piece : path(piece, at)));
  return {
    form: { pieces: pieces.map((piece, index) => (index % 2 === 0 ? { text: piece } : { path: piece })) },
    read: (record) => {
      let result = '';
      for (const rule of rules) {
        const value = typeof rule === 'string' ? rule : rule.read(record);
        if (value === undefined) return undefined;
        result += textOf(value);
      }
      return result;
    },
    columns: rules.flatMap((rule) => (typeof rule === 'string' ? [] : rule.columns)),
  };
}

function first(list: unknown, at: string): ValueRule {
  if (!Array.isArray(list) || list.length === 0) refuse(at, 'a list of rules', list);
  const rules = (list as readonly unknown[]).map((each, index) => valueRule(each, `${at}[${index}]`));
  return {
    read: (record) => {
      for (const rule of rules) {
        const value = rule.read(record);
        if (value !== undefined) return value;
      }
      return undefined;
    },
    columns: rules.flatMap((rule) => rule.columns),
  };
}

/** Applies table, type and default, in this order. */
function modified(rule: ValueRule, { table, else: otherwise, type, default: standard }: Json, at: string): ValueRule {
  if (table !== undefined && !isObject(table)) refuse(`${at}.table`, 'an object of values', table);
  if (table === undefined && otherwise !== undefined) refuse(`${at}.else`, 'it together with "table"', otherwise);
  if (type !== undefined && !(types as readonly unknown[]).includes(type)) refuse(`${at}.type`, types.join(', '), type);
  const entries = table === undefined ? undefined : new Map(Object.entries(table));
  const convert = type === undefined ? undefined : conversions[type as ValueType];
  const read = (record: Json): unknown => {
    let value = rule.read(record);
    if (value === undefined) return undefined;
    if (entries !== undefined) {
      const key = textOf(value);
      value = (entries.has(key) ? entries.get(key) : otherwise) ?? undefined;
    }
    return value === undefined || convert === undefined ? value : convert(value);
  };
  const isSame = entries === undefined && convert === undefined && standard === undefined;
  const known = isSame && rule.form !== undefined ? { form: rule.form } : {};
  return {
    ...known,
    columns: rule.columns,
    read: standard === undefined ? read : (record) => read(record) ?? standard,
  };
}

/** Converters return `undefined` for values that cannot be converted. */
const conversions: Readonly<Record<ValueType, (value: unknown) => unknown>> = {
  text: textOf,
  number: exactNumberOf,
  boolean: (value) => booleans.get(textOf(value).toLowerCase()),
  json: (value) => {
    if (typeof value !== 'string') return value;
    try {
      return parseExactValues(value);
    } catch {
      return undefined;
    }
  },
};

const booleans = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
  ['yes', true],
  ['no', false],
  ['t', true],
  ['f', false],
]);

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
