import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExactValues } from '../../../../base/exact-json.ts';
import { valueEnd } from './canonical-value.ts';

function isCopied(text: string): boolean {
  const bytes = Buffer.from(`${text},`);
  return valueEnd(bytes, 0) === bytes.length - 1;
}

describe('a value is copied', () => {
  it.each([
    '0',
    '-1',
    '0.5',
    '-0.5',
    '123456789012345',
    '1234567890123456',
    '-8999999999999999',
    '0.000001',
    '12.000001',
    '"a\\"b\\\\\\n"',
    '"ä\u2028"',
    'null',
  ])('%s', (text) => {
    expect(isCopied(text)).toBe(true);
    expect(JSON.stringify(parseExactValues(text))).toBe(text);
  });

  it.each(['[]', '{}', '[1,[true,false]]', '{"b":1,"a":{"b":2}}'])('%s', (text) => {
    expect(isCopied(text)).toBe(true);
  });

  it.each([
    '01',
    '-0',
    '1.0',
    '1.',
    '.5',
    '1e3',
    '1E3',
    '1.5e3',
    '-',
    '9234567890123456',
    '12345678901234567',
    '1234567890123456.5',
    '0.0000001',
    '+1',
    'NaN',
  ])('not %s, a number that is written otherwise or is none', (text) => {
    expect(isCopied(text)).toBe(false);
  });

  it.each([
    '"\\u0041"',
    '"\\/"',
    '"\\x"',
    '"a',
    '"\t"',
    '[1, 2]',
    '[1,]',
    '{"a" :1}',
    '{"a":1,"a":2}',
    '{"1":2}',
    'nul',
    'True',
  ])('not %s, which JSON.stringify writes otherwise or nobody reads', (text) => {
    expect(isCopied(text)).toBe(false);
  });

  it('only where JSON.stringify writes the same, whatever the text', () => {
    const compact = fc.json({ maxDepth: 6 });
    const spaced = fc.jsonValue({ maxDepth: 6 }).map((value) => JSON.stringify(value, undefined, 1));
    const number = fc.stringMatching(/^-?\d{0,18}\.?\d{0,18}(e-?\d)?$/);
    const property = fc.property(fc.oneof(compact, spaced, number), (text) => {
      return !isCopied(text) || JSON.stringify(parseExactValues(text)) === text;
    });
    expect(fc.check(property, { numRuns: 2000 }).counterexample).toBeNull();
  });
});
