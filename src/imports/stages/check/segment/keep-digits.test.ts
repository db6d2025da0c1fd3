import { describe, expect, it } from 'vitest';
import { parseExactValues } from '../../../../base/exact-json.ts';
import type { Json } from '../../../formats/read-values.ts';
import { keepDigits } from './transform-events.ts';

const big = '12345678901234567890123';
const rounded = String(Number(big));

/** Returns the result for code that received `text` and returned `after`. */
function kept(text: string, after: unknown, texts: readonly string[] = []): string {
  const before = parseExactValues(text) as Json;
  const beforeText = JSON.stringify(before);
  // JSON, as on the way to the plugin process and back.
  const result = keepDigits({ before, beforeText }, JSON.parse(JSON.stringify(after)) as Json, texts);
  return result.kind === 'kept' ? JSON.stringify(result.properties) : `lost ${result.number}`;
}

describe('digits beyond the precision of JavaScript', () => {
  it.each<[string, string, unknown, string]>([
    ['stay in place', `{"a":${big}}`, { a: Number(big), b: 1 }, `{"a":${big},"b":1}`],
    ['stay in lists', `{"a":[1,${big}]}`, { a: [1, Number(big)] }, `{"a":[1,${big}]}`],
    ['follow to another name', `{"a":${big}}`, { b: { c: [Number(big)] } }, `{"b":{"c":[${big}]}}`],
    [
      'stay under the name __proto__',
      `{"__proto__":${big}}`,
      JSON.parse(`{"__proto__":${rounded}}`),
      `{"__proto__":${big}}`,
    ],
    ['stay in a negative zero', '{"a":-0}', { a: 0, b: 0 }, '{"a":-0,"b":0}'],
    ['stay in a number that is too large', '{"a":1e999}', { a: null, b: null }, '{"a":1e999,"b":null}'],
    ['are replaced by what the code wrote', `{"a":${big}}`, { a: 5 }, '{"a":5}'],
    ['are removed with a property that the code removed', `{"a":${big}}`, {}, '{}'],
    [
      'are not added to a short number that happens to be equal',
      '{"a":0.1000000000000000055}',
      { b: 0.1 },
      '{"b":0.1}',
    ],
    ['are reported lost in a text', `{"a":${big}}`, { a: Number(big), b: `no ${Number(big)}` }, `lost ${big}`],
    [
      'are not reported lost in a text that already contained the rounded number',
      `{"a":${big},"b":"${rounded}"}`,
      { a: 1, b: rounded },
      `{"a":1,"b":"${rounded}"}`,
    ],
  ])('%s', (_name, text, after, expected) => {
    expect(kept(text, after)).toBe(expected);
  });

  it('are reported lost in an id', () => {
    expect(kept(`{"a":${big}}`, { a: Number(big) }, ['seen', rounded])).toBe(`lost ${big}`);
  });
});
