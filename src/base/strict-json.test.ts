import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { strictJson } from './strict-json.ts';

describe('strict JSON', () => {
  it.each([
    [String.raw`"cut \ud83d"`, '"cut \ufffd"'],
    [String.raw`"\uDC00\ud83d"`, '"\ufffd\ufffd"'],
    [String.raw`{"k\ud83d":"\ud83d\ude00"}`, `{"k\ufffd":"${String.raw`\ud83d\ude00`}"}`],
    [String.raw`"\\ud83d"`, String.raw`"\\ud83d"`],
    [String.raw`"\\\ud83d"`, String.raw`"\\` + '\ufffd"'],
    [String.raw`"\ud83d\ud83d\ude00"`, `"\ufffd${String.raw`\ud83d\ude00`}"`],
    ['"plain"', '"plain"'],
  ])('of %s is %s', (text, expected) => {
    expect(strictJson(text)).toBe(expected);
  });

  it('is the text of the same value, made well-formed', () => {
    const text = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) });
    fc.assert(
      fc.property(text, (value) => {
        expect(JSON.parse(strictJson(JSON.stringify(value)))).toBe(value.toWellFormed());
      }),
    );
  });
});
