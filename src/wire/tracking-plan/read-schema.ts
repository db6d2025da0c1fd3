import { exactNumber } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { planLimits } from '../contract/plan-policies.ts';
import { typeOf } from './compile-schema.ts';
import { shown } from './plan-fault.ts';
import { schemaFormats, schemaTypes, type PropertySchema } from './plan.ts';

type Report = (path: string, detail: string) => void;
/** Validates the value of a keyword. */
type Keyword = (value: unknown, path: string, report: Report, depth: number) => void;

/**
 * Keywords that are supported. `pattern` is not: its time depends on the expression, and a slow one would delay every event. Nor are
 * keywords that combine schemas or refer to others: a property has one type or several, and nothing that depends on another one.
 */
const keywords: Readonly<Record<string, Keyword>> = {
  $comment: text,
  title: text,
  description: text,
  examples: () => {},
  default: () => {},
  deprecated: yesOrNo,
  type: types,
  enum: allowedValues,
  const: plainValue,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  minLength: count,
  maxLength: count,
  format: formatName,
  items: schemaWithin,
  minItems: count,
  maxItems: count,
  properties: propertySchemas,
  required: names,
  additionalProperties: yesOrNo,
};
export const schemaKeywords: readonly string[] = Object.keys(keywords);

/** Keywords that a schema of a whole event has; others would never apply to an object of properties. */
const eventKeywords = ['$schema', '$comment', 'title', 'description', 'type', 'properties', 'required'];

/** Reads the schema of an event's properties: one of an object. Reports what is wrong with it. */
export function readEventSchema(schema: unknown, path: string, report: Report): PropertySchema {
  if (!isObject(schema)) {
    report(path, `expected a JSON Schema as an object, got: ${shown(schema)}`);
    return {};
  }
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > planLimits.schemaBytesMax) {
    report(path, `expected a schema of at most ${planLimits.schemaBytesMax} bytes of JSON, got: ${bytes}`);
    return {};
  }
  for (const key of Object.keys(schema)) {
    if (key === 'additionalProperties') {
      report(path, 'expected "unplanned_properties" of the event instead of "additionalProperties"');
    } else if (!eventKeywords.includes(key)) {
      report(path, `expected only ${eventKeywords.join(', ')}, got: ${shown(key)}`);
    }
  }
  if (schema['type'] !== undefined && schema['type'] !== 'object') {
    report(
      `${path}.type`,
      `expected object, since it describes the properties of an event, got: ${shown(schema['type'])}`,
    );
  }
  const { $schema: _, ...own } = schema;
  for (const key of ['properties', 'required'] as const) {
    if (own[key] !== undefined) keywords[key]?.(own[key], `${path}.${key}`, report, 1);
  }
  // Sound: its keywords have just been validated; if one is invalid, the plan is refused.
  return own as PropertySchema;
}

function readSchema(schema: unknown, path: string, report: Report, depth: number): void {
  if (depth > planLimits.depthMax) {
    report(path, `expected at most ${planLimits.depthMax} levels of "properties" and "items", got: more`);
    return;
  }
  if (!isObject(schema)) {
    report(path, `expected a JSON Schema as an object such as {"type": "string"}, got: ${shown(schema)}`);
    return;
  }
  for (const [key, value] of Object.entries(schema)) {
    const keyword = Object.hasOwn(keywords, key) ? keywords[key] : undefined;
    if (keyword === undefined) report(path, `expected only ${schemaKeywords.join(', ')}, got: ${shown(key)}`);
    else keyword(value, `${path}.${key}`, report, depth);
  }
}

function schemaWithin(schema: unknown, path: string, report: Report, depth: number): void {
  readSchema(schema, path, report, depth + 1);
}

function propertySchemas(schemas: unknown, path: string, report: Report, depth: number): void {
  if (!isObject(schemas)) return report(path, `expected an object of name and schema, got: ${shown(schemas)}`);
  const all = Object.entries(schemas);
  if (all.length > planLimits.propertiesMax) {
    return report(path, `expected at most ${planLimits.propertiesMax} properties, got: ${all.length}`);
  }
  for (const [name, schema] of all) {
    if (name.length > planLimits.nameCharsMax) {
      report(path, `expected names of at most ${planLimits.nameCharsMax} characters, got: ${shown(name)}`);
    }
    readSchema(schema, `${path}.${name}`, report, depth + 1);
  }
}

function text(value: unknown, path: string, report: Report): void {
  if (typeof value === 'string' && value.length <= planLimits.descriptionCharsMax) return;
  report(path, `expected a text of at most ${planLimits.descriptionCharsMax} characters, got: ${shown(value)}`);
}

function yesOrNo(value: unknown, path: string, report: Report): void {
  if (typeof value !== 'boolean') report(path, `expected true or false, got: ${shown(value)}`);
}

function number(value: unknown, path: string, report: Report): void {
  if (typeof value !== 'number' && exactNumber(value) === undefined) {
    report(path, `expected a number, got: ${shown(value)}`);
  }
}

function count(value: unknown, path: string, report: Report): void {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    report(path, `expected a whole number of 0 or more, got: ${shown(value)}`);
  }
}

function types(value: unknown, path: string, report: Report): void {
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  const known: readonly unknown[] = schemaTypes;
  const isValid =
    given.length > 0 && new Set(given).size === given.length && given.every((each) => known.includes(each));
  if (!isValid) report(path, `expected one or several of ${schemaTypes.join(', ')}, got: ${shown(value)}`);
}

function formatName(value: unknown, path: string, report: Report): void {
  const known: readonly unknown[] = schemaFormats;
  if (!known.includes(value)) report(path, `expected ${schemaFormats.join(', ')}, got: ${shown(value)}`);
}

function allowedValues(values: unknown, path: string, report: Report): void {
  if (!Array.isArray(values) || values.length === 0 || values.length > planLimits.valuesMax) {
    return report(path, `expected a list of 1 to ${planLimits.valuesMax} values, got: ${shown(values)}`);
  }
  for (const [index, value] of values.entries()) plainValue(value, `${path}.${index}`, report);
}

function plainValue(value: unknown, path: string, report: Report): void {
  const type = typeOf(value);
  if (type === 'object' || type === 'array') {
    report(path, `expected a text, a number, true, false or null, got: ${shown(value)}`);
  }
}

function names(value: unknown, path: string, report: Report): void {
  const isValid =
    Array.isArray(value) &&
    value.length <= planLimits.propertiesMax &&
    value.every((each) => typeof each === 'string' && each.length <= planLimits.nameCharsMax);
  if (!isValid) {
    report(path, `expected a list of at most ${planLimits.propertiesMax} names of properties, got: ${shown(value)}`);
  }
}
