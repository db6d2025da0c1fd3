import { describe, expect, it } from 'vitest';
import { Type, type TSchema } from 'typebox';
import { ApiError, type ApiErrorBody } from '../../wire/contract/errors.ts';
import { compileCheck } from './answer-route.ts';

const errorOf = (schema: TSchema, value: unknown, source: 'json' | 'text' = 'json'): ApiErrorBody | undefined => {
  try {
    compileCheck(Type.Object({ f: schema }), 'body')({ f: value }, source);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.body();
    throw error;
  }
};
const nullableText = Type.Union([Type.String({ maxLength: 3 }), Type.Null()]);
const choice = Type.Union([Type.Literal('a'), Type.Literal('b')]);
const job = Type.Object({ type: Type.String(), payload: Type.Optional(Type.Record(Type.String(), Type.Unknown())) });

describe('error texts', () => {
  it.each([
    [Type.Integer(), 'x', 'invalid_input', 'A valid integer is required.', 'f'],
    [Type.Integer(), 1.5, 'invalid_input', 'A valid integer is required.', 'f'],
    [Type.Integer(), '', 'invalid_input', 'A valid integer is required.', 'f'],
    [Type.Integer(), [1], 'invalid_input', 'A valid integer is required.', 'f'],
    [Type.Number(), '1e', 'invalid_input', 'A valid number is required.', 'f'],
    [Type.Boolean(), 'yes', 'invalid_input', 'Must be a valid boolean.', 'f'],
    [Type.Boolean(), '1', 'invalid_input', 'Must be a valid boolean.', 'f'],
    [Type.String(), 5, 'invalid_input', 'Not a valid string.', 'f'],
    [Type.String(), true, 'invalid_input', 'Not a valid string.', 'f'],
    [Type.String(), null, 'null', 'This field may not be null.', 'f'],
    [Type.String({ minLength: 1 }), '', 'blank', 'This field may not be blank.', 'f'],
    [nullableText, 'abcd', 'max_length', 'Ensure this field has no more than 3 characters.', 'f'],
    [nullableText, 5, 'invalid_input', 'Not a valid string.', 'f'],
    [Type.Integer({ maximum: 5 }), 6, 'max_value', 'Ensure this value is less than or equal to 5.', 'f'],
    [Type.Integer({ minimum: 0 }), -1, 'min_value', 'Ensure this value is greater than or equal to 0.', 'f'],
    [Type.Integer({ maximum: 5 }), '99999999999999999999', 'max_value', /less than or equal to 5/, 'f'],
    [choice, 'c', 'invalid_input', '"c" is not a valid choice.', 'f'],
    [choice, null, 'null', 'This field may not be null.', 'f'],
    [Type.Union([Type.String(), Type.Integer()]), [], 'invalid_input', 'Expected one of: string, integer.', 'f'],
    [Type.Array(Type.Integer()), [1, 'x'], 'invalid_input', 'A valid integer is required.', 'f__1'],
    [Type.Array(Type.Integer()), 5, 'invalid_input', 'Expected a list of items but got type "int".', 'f'],
    [job, [], 'invalid_input', 'Expected a dictionary of items but got type "list".', 'f'],
    [job, { payload: 5 }, 'required', 'This field is required.', 'f__type'],
    [Type.String({ format: 'uuid' }), 'x', 'invalid_input', 'Must be a valid UUID.', 'f'],
    [Type.String({ format: 'date-time' }), '2026-13-01T00:00:00Z', 'invalid_input', /^Datetime has wrong format/, 'f'],
  ])('%j given %j: %s', (schema, value, code, detail, attr) => {
    const error = errorOf(schema, value);
    expect([error?.code, error?.attr]).toEqual([code, attr]);
    expect(error?.detail).toMatch(detail);
  });

  it('reports what the root should be', () => {
    const check = compileCheck(Type.Object({}), 'body');
    for (const [value, name] of [
      [[], 'list'],
      [null, 'null'],
      ['x', 'str'],
      [1, 'int'],
    ] as const) {
      expect(() => check(value, 'json')).toThrow(`Invalid data. Expected a dictionary, but got ${name}.`);
    }
  });

  it('lists at most twenty', () => {
    const error = errorOf(
      Type.Array(Type.Integer()),
      Array.from({ length: 1000 }, () => 'x'),
    );
    expect(error?.errors).toHaveLength(20);
  });
});

describe('coercion', () => {
  const schema = Type.Object({
    number: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    flag: Type.Optional(Type.Boolean()),
    text: Type.Optional(Type.String()),
    list: Type.Optional(Type.Array(Type.Integer())),
    job: Type.Optional(job),
    orders: Type.Optional(Type.Record(Type.String(), Type.Integer())),
  });
  const check = compileCheck(schema, 'body');

  it.each([
    ['json', { number: '-5', flag: 'False' }, { number: -5, flag: false }],
    ['json', { number: '5.0', list: ['1', 2] }, { number: 5, list: [1, 2] }],
    ['json', { orders: { 1: '2', 3: 4 } }, { orders: { 1: 2, 3: 4 } }],
    ['json', { number: null, text: '5' }, { number: null, text: '5' }],
    ['text', { number: '', flag: '1' }, { number: null, flag: true }],
    ['text', { list: ['1', '2'] }, { list: [1, 2] }],
    ['text', { list: '1' }, { list: [1] }],
    ['text', { list: '[1,2]' }, { list: [1, 2] }],
    ['text', { job: '{"type":"run"}' }, { job: { type: 'run' } }],
    ['text', { text: ['a', 'b'], orders: '{"1":2}' }, { text: 'b', orders: { 1: 2 } }],
  ] as const)('%s %j → %j', (source, given, expected) => {
    expect(check(structuredClone(given), source)).toEqual(expected);
  });

  it('sets defaults of queries, never of bodies', () => {
    const withDefault = Type.Object({ limit: Type.Optional(Type.Integer({ default: 100 })) });
    expect(compileCheck(withDefault, 'query')({}, 'text')).toEqual({ limit: 100 });
    expect(compileCheck(withDefault, 'body')({}, 'json')).toEqual({});
  });
});
