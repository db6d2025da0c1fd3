import { assert, jsonValue, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffJson, linesOf, type DiffLine } from './diff-json.ts';

const signs = { same: ' ', added: '+', removed: '-' } as const;
const shown = (lines: readonly DiffLine[]): string[] =>
  lines.map(({ kind, depth, key, text }) => `${signs[kind]} ${'  '.repeat(depth)}${key}${text}`);

describe('diffJson', () => {
  it('marks added, removed and changed lines, with sorted keys', () => {
    const before = { event: 'visit', properties: { b: 1, a: [1, 2], gone: true } };
    const after = { properties: { a: [1, 3, 4], b: 1, new: {} }, event: 'visit' };
    expect(shown(diffJson(before, after))).toEqual([
      '  {',
      '    "event": "visit"',
      '    "properties": {',
      '      "a": [',
      '        1',
      '-       2',
      '+       3',
      '+       4',
      '      ]',
      '      "b": 1',
      '-     "gone": true',
      '+     "new": {}',
      '    }',
      '  }',
    ]);
  });

  it('a value of another type is removed and added', () => {
    expect(shown(diffJson({ a: { b: 1 } }, { a: 'b' }))).toEqual([
      '  {',
      '-   "a": {',
      '-     "b": 1',
      '-   }',
      '+   "a": "b"',
      '  }',
    ]);
  });

  it('lines that are not removed form the second value, lines that are not added the first', () => {
    assert(
      property(jsonValue(), jsonValue(), (before, after) => {
        const lines = diffJson(before, after);
        // When one side is empty, the brackets of the other are on separate lines.
        const joined = (part: readonly DiffLine[]): string =>
          shown(part)
            .map((line) => line.slice(1))
            .join('\n')
            .replace(/([[{])\n\s*([\]}])/g, '$1$2');
        const without = (kind: DiffLine['kind']): string => joined(lines.filter((line) => line.kind !== kind));
        const whole = (value: unknown): string => joined(linesOf(value, 'same'));
        expect(without('removed')).toEqual(whole(after));
        expect(without('added')).toEqual(whole(before));
      }),
    );
  });

  it('equal values have no changes, regardless of key order', () => {
    const lines = diffJson({ a: 1, b: { c: [null] } }, { b: { c: [null] }, a: 1 });
    expect(lines.every(({ kind }) => kind === 'same')).toBe(true);
  });
});
