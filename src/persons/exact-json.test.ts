import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from './exact-json.ts';

const through = (text: string): string => JSON.stringify(parseExact(text));

describe('numbers that pass through', () => {
  it.each([
    '{"big":123456789012345678901234567890}',
    '{"beyond":9007199254740993,"below":-9007199254740993}',
    '[1e999,-1e999,1E+2,2e-400]',
    '{"digits":0.12345678901234567890123,"nested":[{"a":[18446744073709551615]}]}',
    '1e5000',
  ])('%s leaves as it came', (text) => {
    expect(through(text)).toBe(text);
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

  it('everything that JavaScript can hold is what JSON.parse gives', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(through(text))).toEqual(JSON.parse(text));
      }),
      { numRuns: 1000 },
    );
  });
});
