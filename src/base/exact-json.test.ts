import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalDecimal } from './decimals.ts';
import { exactNumber, exactNumberFrom, parseExact, parseExactValues } from './exact-json.ts';
import { isObject } from './json.ts';

const through = (text: string): string => JSON.stringify(parseExact(text));

describe('exact numbers', () => {
  it.each([
    '{"big":123456789012345678901234567890}',
    '{"beyond":9007199254740993,"below":-9007199254740993}',
    '[1e999,-1e999,1E+2,2e-400]',
    '{"digits":0.12345678901234567890123,"nested":[{"a":[18446744073709551615]}]}',
    '1e5000',
  ])('%s is written unchanged', (text) => {
    expect(through(text)).toBe(text);
  });

  it.each(['1795175940000000', '8999999999999999', '9007199254740993', '9999999999999999', '1234567890123456.5'])(
    'and so is %s, in any position',
    (number) => {
      for (const text of [`{"t":${number}}`, `[${number},1]`, `{"a":{"b":[${number}]}}`, `{"t":${number},"k":"set"}`]) {
        expect(through(text)).toBe(text);
      }
    },
  );

  it.each(['{"a":1.0,"b":-1.50,"c":[2.00]}', '[1.10,0.0]'])('%s is the same next to a number that is kept', (text) => {
    const beside = `[${text},12345678901234567890]`;
    expect(through(beside)).toBe(`[${through(text)},12345678901234567890]`);
  });

  it('a text that looks like a number stays a text', () => {
    const text = '{"a":"12345678901234567890","b":":1e999","c":12345678901234567890}';
    expect(through(text)).toBe(text);
  });

  it('hostile keys stay plain keys', () => {
    const text = '{"__proto__":{"n":12345678901234567890},"constructor":1}';
    expect(through(text)).toBe(text);
    expect(Object.hasOwn(Object.prototype, 'n')).toBe(false);
  });

  it('everything that JavaScript can represent equals the result of JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(through(text))).toEqual(JSON.parse(text));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('exact number values', () => {
  it.each([
    ['1.50', 1.5],
    ['1e3', 1000],
    ['1700000000123456', 1_700_000_000_123_456],
    ['0.1000000000000000000', 0.1],
    ['0e5', 0],
    ['100000000000000000000', 1e20],
  ])('%s is the ordinary number %d', (text, number) => {
    expect(parseExactValues(`{"a":${text}}`)).toEqual({ a: number });
    expect(exactNumberFrom(text)).toBe(number);
  });

  it.each([
    '-0',
    '-0.0',
    '-0e3',
    '12345678901234567890',
    '9007199254740993',
    '1e400',
    '-1e-400',
    '0.12345678901234567890',
  ])('%s is kept as written and is not an object', (text) => {
    for (const line of [`{"a":${text}}`, `{"a": ${text} }`, `{"a":[1,${text}]}`, `{"a":"1","b":${text}}`]) {
      expect(JSON.stringify(parseExactValues(line))).toBe(line.replaceAll(' ', ''));
    }
    expect(exactNumber(parseExactValues(text))).toBe(text);
    expect(isObject(parseExactValues(text))).toBe(false);
  });

  it('every number keeps its value to the last digit', () => {
    const sign = fc.constantFrom('', '-');
    const whole = fc.bigInt({ min: 0n, max: 10n ** 40n }).map(String);
    const fraction = fc.option(fc.stringMatching(/^\.\d{1,30}$/), { nil: '' });
    const exponent = fc.option(fc.stringMatching(/^[eE][+-]?\d{1,3}$/), { nil: '' });
    fc.assert(
      fc.property(fc.tuple(sign, whole, fraction, exponent), (parts) => {
        const text = parts.join('');
        const after = JSON.stringify(parseExactValues(`[${text}]`)).slice(1, -1);
        expect(canonicalDecimal(after)).toBe(canonicalDecimal(text));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['12.50', '125e-1'],
    ['1.25e1', '125e-1'],
    ['00.5', '5e-1'],
    ['-0.000', '-0'],
    ['0e9', '0'],
    ['1E+400', '1e400'],
    ['9007199254740993', '9007199254740993e0'],
    ['text', 'text'],
  ])('%s is %s, however it is spelled', (text, canonical) => {
    expect(canonicalDecimal(text)).toBe(canonical);
  });
});
