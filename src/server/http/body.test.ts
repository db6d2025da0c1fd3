import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../wire/contract/errors.ts';
import { parseForm, parseJsonOrForm } from './body.ts';

const errorOf = (text: string): string => {
  try {
    parseJsonOrForm(text);
    return 'none';
  } catch (error) {
    return error instanceof ApiError ? `${error.code}: ${error.detail}` : `not an ApiError: ${String(error)}`;
  }
};

describe('parseJsonOrForm', () => {
  it('parses JSON as JSON.parse does, without __proto__ keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
        const text = JSON.stringify(value);
        const expected: unknown = JSON.parse(text, (key, each) => (key === '__proto__' ? undefined : each));
        expect(parseJsonOrForm(text).value).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('reads every form that URLSearchParams writes', () => {
    const name = fc.string({ minLength: 1 }).filter((text) => text !== '__proto__');
    fc.assert(
      fc.property(fc.dictionary(name, fc.string({ unit: 'grapheme' })), (fields) => {
        const text = new URLSearchParams(fields).toString();
        expect({ ...(parseForm(text).value as object) }).toEqual({ ...fields });
      }),
      { numRuns: 500 },
    );
  });

  it('only throws parse_error, never with a part of the body', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (noise) => {
        expect(errorOf(`{"secret":"hunter2",${noise}`)).not.toMatch(/hunter2|not an ApiError/);
        expect(errorOf(noise)).toMatch(/^(none|parse_error: )/);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['{"a":1', "parse_error: JSON parse error - Expected ',' or '}' after property value in JSON at position 6"],
    ['{"a":1} x', 'parse_error: JSON parse error - Unexpected non-whitespace character after JSON at position 8'],
    ['nonsense', 'parse_error: JSON parse error - unexpected character'],
    ['<xml a="b"/>', 'parse_error: JSON parse error - unexpected character'],
    ['[1=2]', 'parse_error: JSON parse error - '],
    ['=1', 'parse_error: JSON parse error - unexpected character'],
    [`${'['.repeat(65)}${']'.repeat(65)}`, 'parse_error: JSON parse error - nested deeper than 64 levels.'],
    ['plugin=1', 'none'],
    [' plugin=1&order=0\n', 'none'],
    ['orders[1]=0', 'none'],
    ['', 'none'],
  ])('%s → %s', (text, expected) => {
    expect(errorOf(text)).toContain(expected);
  });

  it('survives millions of brackets', () => {
    expect(errorOf('['.repeat(5_000_000))).toMatch(/^parse_error: /);
    expect(errorOf('['.repeat(1_000_000) + ']'.repeat(1_000_000))).toMatch(/^parse_error: /);
  });
});
