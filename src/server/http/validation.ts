import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import { canonicalUuid } from '../../base/uuids.ts';
import { fieldErrors, type FieldError } from '../../wire/contract/errors.ts';
import { compileCoercion, type SchemaShape, type ValueSource } from './coerce.ts';
import { fieldErrorOf } from './field-errors.ts';

/** More errors than this in one answer help nobody. */
const errorsMax = 20;

const timeForm = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?$/;
const formats = {
  uuid: (text: string) => canonicalUuid(text) !== undefined,
  'date-time': (text: string) => timeForm.test(text) && !Number.isNaN(Date.parse(text.replace(' ', 'T'))),
  date: (text: string) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  email: /^[^\s@]+@[^\s@]+$/,
  uri: (text: string) => URL.canParse(text),
};

// Defaults are filled in for queries only: in a body they would turn a partial update into a full one.
const common = { allErrors: true, strict: false, verbose: true, formats } as const;
const forBodies = new Ajv2020(common);
const forQueries = new Ajv2020({ ...common, useDefaults: true });

export type Check = (value: unknown, source: ValueSource) => unknown;

/**
 * Compiles a schema into a check that returns the value as the handler gets it, or throws ApiError with every field at fault.
 * Fields that the schema does not know stay as they are; handlers read only what they declared.
 */
export function compileCheck(schema: TSchema, part: 'body' | 'query' | 'params'): Check {
  // With the first request: compiling the checks of all routes would take half a second of every start.
  let validate: ValidateFunction | undefined;
  const coerce = compileCoercion(schema as SchemaShape);
  return (value, source) => {
    validate ??= (part === 'query' ? forQueries : forBodies).compile(withUnknownFields(schema));
    const coerced = coerce === undefined ? value : coerce(value, source);
    if (!validate(coerced)) throw toFieldErrors(validate.errors ?? []);
    return coerced;
  };
}

function toFieldErrors(errors: readonly ErrorObject[]): Error {
  const found: FieldError[] = [];
  const seen = new Set<string | null>();
  for (const error of withoutLostBranches(errors)) {
    const fieldError = fieldErrorOf(error);
    if (seen.has(fieldError.attr)) continue;
    seen.add(fieldError.attr);
    found.push(fieldError);
    if (found.length === errorsMax) break;
  }
  const [first, ...rest] = found;
  return fieldErrors([first ?? { code: 'invalid_input', detail: 'Invalid input.', attr: null }, ...rest]);
}

/**
 * A value that fits no branch of a union has one error per branch and one for the union. What counts is why it misses the
 * branch that is not null; when branches differ in more than that, the union's own error is all that can be said.
 */
function withoutLostBranches(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const unions = errors.filter((error) => error.keyword === 'anyOf');
  if (unions.length === 0) return errors;
  const dropped = new Set<ErrorObject>();
  for (const union of unions) {
    const branches: readonly SchemaShape[] = Array.isArray(union.schema) ? union.schema : [];
    const single = branches.filter((branch) => branch.type !== 'null').length === 1;
    const inside = errors.filter((error) => error !== union && error.schemaPath.startsWith(`${union.schemaPath}/`));
    const telling = inside.filter((error) => error.params['type'] !== 'null');
    const lost = single && telling.length > 0 ? [union, ...inside.filter((e) => !telling.includes(e))] : inside;
    for (const error of lost) dropped.add(error);
  }
  return errors.filter((error) => !dropped.has(error));
}

/** `additionalProperties: false` documents a shape; it never makes a request fail. */
function withUnknownFields(schema: unknown): Record<string, unknown> {
  return relax(schema) as Record<string, unknown>;
}

function relax(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(relax);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(([key, value]) => !(key === 'additionalProperties' && value === false));
  return Object.fromEntries(entries.map(([key, value]) => [key, relax(value)]));
}
