import { canonicalUuid } from '../../base/uuids.ts';

/** The parts of JSON Schema that coercion reads. */
export interface SchemaShape {
  readonly type?: unknown;
  readonly format?: unknown;
  readonly properties?: Readonly<Record<string, SchemaShape>>;
  /** A record has one pattern for all of its keys. */
  readonly patternProperties?: Readonly<Record<string, SchemaShape>>;
  readonly items?: SchemaShape;
  readonly anyOf?: readonly SchemaShape[];
}

/** json: typed already. text: query strings and forms, where everything is a string and a repeated name is a list. */
export type ValueSource = 'json' | 'text';
type Coercion = (value: unknown, source: ValueSource) => unknown;

/**
 * Converts strings that clearly represent the schema's type (`"5"` → 5, `"true"` → true); objects and lists in place. Never the
 * other way; what does not fit is left to validation. Returns `undefined` if there is nothing to do.
 */
export function compileCoercion(schema: SchemaShape): Coercion | undefined {
  if (schema.anyOf !== undefined) return compileUnion(schema.anyOf);
  switch (schema.type) {
    case 'integer':
    case 'number':
      return (value, source) => toNumber(lastOf(value, source));
    case 'boolean':
      return (value, source) => toBoolean(lastOf(value, source), source);
    case 'string':
      return schema.format === 'uuid' ? (value, source) => toUuid(lastOf(value, source)) : lastOf;
    case 'null':
      return (value, source) => (source === 'text' && value === '' ? null : value);
    case 'array':
      return compileList(schema.items);
    case 'object':
      return compileObject(schema.properties ?? {}, Object.values(schema.patternProperties ?? {})[0]);
    default:
      return undefined;
  }
}

/** For a repeated form field or query parameter, the last value counts where one is expected. */
function lastOf(value: unknown, source: ValueSource): unknown {
  return source === 'text' && Array.isArray(value) ? value.at(-1) : value;
}

/** In the spelling in which ids are stored. */
function toUuid(value: unknown): unknown {
  return canonicalUuid(value) ?? value;
}

function toNumber(value: unknown): unknown {
  return typeof value === 'string' && /^[+-]?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

function toBoolean(value: unknown, source: ValueSource): unknown {
  if (typeof value !== 'string') return value;
  const text = value.toLowerCase();
  if (text === 'true' || (source === 'text' && text === '1')) return true;
  if (text === 'false' || (source === 'text' && text === '0')) return false;
  return value;
}

function compileList(items: SchemaShape | undefined): Coercion {
  const each = items === undefined ? undefined : compileCoercion(items);
  return (value, source) => {
    const parsed = source === 'text' ? asJson(value, '[') : value;
    const list: unknown = source === 'text' && parsed !== undefined && !Array.isArray(parsed) ? [parsed] : parsed;
    if (each === undefined || !Array.isArray(list)) return list;
    return list.map((item) => each(item, source));
  };
}

function compileObject(properties: Readonly<Record<string, SchemaShape>>, others: SchemaShape | undefined): Coercion {
  const fields = new Map<string, Coercion>();
  for (const [name, schema] of Object.entries(properties)) {
    const coercion = compileCoercion(schema);
    if (coercion !== undefined) fields.set(name, coercion);
  }
  const coerceOther = others && compileCoercion(others);
  return (value, source) => {
    const object = source === 'text' ? asJson(value, '{') : value;
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return object;
    const record = object as Record<string, unknown>;
    for (const name of Object.keys(record)) {
      const coerce = fields.get(name) ?? (Object.hasOwn(properties, name) ? undefined : coerceOther);
      if (coerce !== undefined) record[name] = coerce(record[name], source);
    }
    return record;
  };
}

/** Uses the branch that the value already fits, or for a string the first that converts it. */
function compileUnion(branches: readonly SchemaShape[]): Coercion {
  const wantsText = branches.some((branch) => branch.type === 'string');
  const coercions = branches.map(compileCoercion);
  return (value, source) => {
    if (wantsText && typeof value === 'string') return value;
    for (const coerce of coercions) {
      const changed = coerce?.(value, source);
      if (coerce !== undefined && changed !== value) return changed;
    }
    return value;
  };
}

/** In a form, an object or a list is sent as JSON text. */
function asJson(value: unknown, opening: '{' | '['): unknown {
  if (typeof value !== 'string' || !value.trimStart().startsWith(opening)) return value;
  try {
    return JSON.parse(value);
  } catch {
    // Not JSON: validation reports what was expected.
    return value;
  }
}
