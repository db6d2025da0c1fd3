import type { ErrorObject } from 'ajv';
import type { FieldError } from '../../wire/contract/errors.ts';

type Finding = Pick<FieldError, 'code' | 'detail'>;

/** Converts a validation error to the wording that clients of the existing service know. */
export function fieldErrorOf(error: ErrorObject): FieldError {
  if (error.keyword === 'required') {
    const path = pathOf(error.instancePath, String(error.params['missingProperty']));
    return { code: 'required', detail: 'This field is required.', attr: path };
  }
  const finding = findings[error.keyword]?.(error) ?? { code: 'invalid_input', detail: 'Invalid input.' };
  return { ...finding, attr: pathOf(error.instancePath) };
}

/** `/job/type` → `job__type`; the root → null. */
function pathOf(pointer: string, last?: string): string | null {
  const names = pointer.split('/').slice(1);
  if (last !== undefined) names.push(last);
  if (names.length === 0) return null;
  return names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')).join('__');
}

const invalid = (detail: string): Finding => ({ code: 'invalid_input', detail });

const findings: Readonly<Record<string, (error: ErrorObject) => Finding>> = {
  type: wrongType,
  anyOf: wrongUnion,
  minLength: ({ params }) =>
    params['limit'] === 1
      ? { code: 'blank', detail: 'This field may not be blank.' }
      : invalid(`Ensure this field has at least ${params['limit']} characters.`),
  maxLength: ({ params }) => ({
    code: 'max_length',
    detail: `Ensure this field has no more than ${params['limit']} characters.`,
  }),
  minItems: ({ params }) => invalid(`Ensure this field has at least ${params['limit']} elements.`),
  maxItems: ({ params }) => ({
    code: 'max_length',
    detail: `Ensure this field has no more than ${params['limit']} elements.`,
  }),
  minimum: ({ params }) => ({
    code: 'min_value',
    detail: `Ensure this value is greater than or equal to ${params['limit']}.`,
  }),
  maximum: ({ params }) => ({
    code: 'max_value',
    detail: `Ensure this value is less than or equal to ${params['limit']}.`,
  }),
  enum: wrongChoice,
  const: wrongChoice,
  pattern: () => invalid('This value does not have the required form.'),
  format: ({ params }) =>
    invalid(formatTexts[String(params['format'])] ?? 'This value does not have the required form.'),
  uniqueItems: () => invalid('This list may not contain the same value twice.'),
};

const formatTexts: Readonly<Record<string, string>> = {
  uuid: 'Must be a valid UUID.',
  'date-time': 'Datetime has wrong format. Use ISO 8601, e.g. 2026-01-31T12:00:00Z.',
  date: 'Date has wrong format. Use ISO 8601, e.g. 2026-01-31.',
  email: 'Enter a valid email address.',
  uri: 'Enter a valid URL.',
};

const scalarTexts: Readonly<Record<string, string>> = {
  integer: 'A valid integer is required.',
  number: 'A valid number is required.',
  boolean: 'Must be a valid boolean.',
  string: 'Not a valid string.',
};

function wrongType(error: ErrorObject): Finding {
  const wanted = String(error.params['type']);
  const root = error.instancePath === '';
  if (error.data === null && !root) return { code: 'null', detail: 'This field may not be null.' };
  const scalar = scalarTexts[wanted];
  if (scalar !== undefined) return invalid(scalar);
  const got = typeName(error.data);
  if (root) return invalid(`Invalid data. Expected a ${wanted === 'array' ? 'list' : 'dictionary'}, but got ${got}.`);
  return invalid(`Expected a ${wanted === 'array' ? 'list' : 'dictionary'} of items but got type "${got}".`);
}

/** A union of single values reads as a choice; others list what they accept. */
function wrongUnion(error: ErrorObject): Finding {
  const branches: readonly Record<string, unknown>[] = Array.isArray(error.schema) ? error.schema : [];
  const choices = branches.filter((branch) => 'const' in branch);
  if (error.data === null) return { code: 'null', detail: 'This field may not be null.' };
  if (choices.length > 0) return wrongChoice(error);
  return invalid(`Expected one of: ${branches.map((branch) => String(branch['type'])).join(', ')}.`);
}

function wrongChoice(error: ErrorObject): Finding {
  if (error.data === null) return { code: 'null', detail: 'This field may not be null.' };
  const shown = typeof error.data === 'string' ? error.data.slice(0, 100) : typeName(error.data);
  return invalid(`"${shown}" is not a valid choice.`);
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'object') return 'dict';
  if (typeof value === 'string') return 'str';
  if (typeof value === 'boolean') return 'bool';
  return Number.isInteger(value) ? 'int' : 'float';
}
