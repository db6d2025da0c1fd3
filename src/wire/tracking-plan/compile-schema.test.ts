import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from '../../base/exact-json.ts';
import { compileSchema } from './compile-schema.ts';
import { readPlan } from './read-plan.ts';
import type { PropertySchema } from './plan.ts';

const values = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false, 0, -0, 1, 1.5, -3, 1e21, '', 'a', 'b', 'é😀', '2026-11-28', '__proto__'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'constructor', 'toString'), tie('any'), { maxKeys: 3 }),
  ),
})).any;

const types = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const;
const plain = fc.constantFrom(null, true, 0, 1, 1.5, '', 'a', 'é😀');

/** Up to three of the keywords: with more, hardly any value would be accepted. */
function few(keywords: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<PropertySchema> {
  return fc.subarray(Object.entries(keywords), { maxLength: 3 }).chain((chosen) => {
    // Sound: the generator of each keyword makes its values.
    return fc.record(Object.fromEntries(chosen)) as fc.Arbitrary<PropertySchema>;
  });
}

/** Schemas of every keyword but `format`, which JSON Schema leaves open. */
const schemas = fc.letrec<{ any: PropertySchema }>((tie) => ({
  any: few({
    type: fc.oneof(fc.constantFrom(...types), fc.uniqueArray(fc.constantFrom(...types), { minLength: 1 })),
    enum: fc.uniqueArray(plain, { minLength: 1, maxLength: 4 }),
    const: plain,
    minimum: fc.constantFrom(-1, 0, 1.5),
    maximum: fc.constantFrom(0, 1, 1e21),
    exclusiveMinimum: fc.constantFrom(0, 1),
    exclusiveMaximum: fc.constantFrom(1, 2),
    minLength: fc.nat({ max: 3 }),
    maxLength: fc.nat({ max: 3 }),
    items: fc.option(tie('any'), { nil: {}, maxDepth: 2 }),
    minItems: fc.nat({ max: 2 }),
    maxItems: fc.nat({ max: 2 }),
    properties: fc.oneof(
      { maxDepth: 2 },
      fc.constant({}),
      fc.dictionary(fc.constantFrom('a', 'b', 'constructor'), tie('any'), { maxKeys: 2, noNullPrototype: true }),
    ),
    required: fc.uniqueArray(fc.constantFrom('a', 'b', 'toString'), { maxLength: 2 }),
    additionalProperties: fc.boolean(),
  }),
})).any;

describe('a compiled schema', () => {
  it('accepts exactly the values that Ajv accepts', () => {
    const ajv = new Ajv2020({ strict: false, ownProperties: true, allowUnionTypes: true });
    let accepted = 0;
    fc.assert(
      fc.property(schemas, fc.array(values, { minLength: 5, maxLength: 10 }), (schema, samples) => {
        const oracle = ajv.compile(structuredClone(schema));
        const check = compileSchema(schema);
        for (const value of samples) {
          const isValid = oracle(value);
          accepted += isValid ? 1 : 0;
          expect([schema, value, check(value) === undefined]).toEqual([schema, value, isValid]);
        }
      }),
      { numRuns: 250 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  it.each<[schema: string, value: string, keyword: string | undefined]>([
    ['{"type":"integer"}', '12345678901234567890', undefined],
    ['{"type":"integer"}', '12345678901234567890.5', 'type'],
    ['{"type":"integer"}', '1e400', undefined],
    ['{"type":"integer"}', '1.0', undefined],
    ['{"type":"number"}', '0.12345678901234567890', undefined],
    ['{"type":"string"}', '12345678901234567890', 'type'],
    ['{"type":"object"}', '12345678901234567890', 'type'],
    ['{"enum":[12345678901234567890]}', '12345678901234567890', undefined],
    ['{"enum":[12345678901234567890]}', '12345678901234567891', 'enum'],
    ['{"enum":[9007199254740993]}', '9007199254740992', 'enum'],
    ['{"const":0}', '-0', undefined],
    ['{"enum":[100]}', '1e2', undefined],
    ['{"maximum":9007199254740992}', '9007199254740993', 'maximum'],
    ['{"minimum":9007199254740993}', '9007199254740993', undefined],
    ['{"minimum":9007199254740993}', '9007199254740992', 'minimum'],
    ['{"exclusiveMaximum":0.1}', '0.10000000000000000001', 'exclusiveMaximum'],
    ['{"exclusiveMinimum":-1}', '-1.00000000000000000001', 'exclusiveMinimum'],
    ['{"maximum":1}', '1e400', 'maximum'],
  ])('validates every digit: %s for %s gives %s', (schema, value, keyword) => {
    expect(compileSchema(parseExact(schema) as PropertySchema)(parseExact(value))?.keyword).toBe(keyword);
  });

  it('names the place of the first mismatch, without indexes', () => {
    const schema = { items: { properties: { price: { type: 'number' } }, required: ['sku'] } } as const;
    const check = compileSchema(schema);
    expect(
      check([
        { sku: 'a', price: 1 },
        { sku: 'b', price: 'x' },
      ]),
    ).toMatchObject({
      keyword: 'type',
      path: '[].price',
      expected: 'number',
      value: 'x',
    });
    expect(check([{ price: 1 }])).toMatchObject({ keyword: 'required', path: '[].sku' });
  });

  it.each([
    ['date', '2024-02-29', true],
    ['date', '2023-02-29', false],
    ['date', '2024-2-9', false],
    ['date-time', '2026-11-28T01:02:03.5Z', true],
    ['date-time', '2026-11-28 01:02:03+05:30', true],
    ['date-time', '2026-11-28T24:00:00Z', false],
    ['date-time', '2026-11-28T01:02:03', false],
    ['email', "o'neil+x@exämple.com", true],
    ['email', 'a@b@c', false],
    ['email', 'none', false],
    ['uri', 'https://example.com/a?b=c', true],
    ['uri', 'app:settings', true],
    ['uri', '/relative', false],
    ['uuid', '018f4a3c-6e0b-7C1D-8000-0123456789ab', true],
    ['uuid', '018f4a3c6e0b7c1d80000123456789ab', false],
  ] as const)('format %s of %s is %s', (format, value, isValid) => {
    expect(compileSchema({ format })(value) === undefined).toBe(isValid);
    expect(compileSchema({ format })(7)).toBeUndefined();
  });

  it('of a property named __proto__ is like any other', () => {
    const schema = parseExact('{"properties":{"__proto__":{"type":"number"}},"required":["__proto__"]}');
    const check = compileSchema(schema as PropertySchema);
    expect(check({})?.keyword).toBe('required');
    expect(check(parseExact('{"__proto__":"x"}'))?.keyword).toBe('type');
    expect(check(parseExact('{"__proto__":1}'))).toBeUndefined();
  });

  it('is read from every schema that the generator makes', () => {
    fc.assert(
      fc.property(schemas, (property) => {
        const events = [{ name: 'e', schema: { properties: { property } } }];
        expect(readPlan({ events }).events).toEqual(events);
      }),
      { numRuns: 100 },
    );
  });
});
