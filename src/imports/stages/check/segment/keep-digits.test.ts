import { describe, expect, it } from 'vitest';
import { parseExactValues } from '../../../../base/exact-json.ts';
import type { Json } from '../../../formats/read-values.ts';
import { keepDigits } from './transform-events.ts';

const big = '12345678901234567890123';
const rounded = String(Number(big));

/** What comes back of code that gets `text` and gives back `after`. */
function kept(text: string, after: unknown, texts: readonly string[] = []): string {
  const before = parseExactValues(text) as Json;
  const beforeText = JSON.stringify(before);
  // Over the bridge and back.
  const result = keepDigits({ before, beforeText }, JSON.parse(JSON.stringify(after)) as Json, texts);
  return result.kind === 'kept' ? JSON.stringify(result.properties) : `lost ${result.number}`;
}

describe('digits that JavaScript does not hold', () => {
  it.each<[string, string, unknown, string]>([
    ['stay where they were', `{"a":${big}}`, { a: Number(big), b: 1 }, `{"a":${big},"b":1}`],
    ['stay in lists', `{"a":[1,${big}]}`, { a: [1, Number(big)] }, `{"a":[1,${big}]}`],
    ['follow to another name', `{"a":${big}}`, { b: { c: [Number(big)] } }, `{"b":{"c":[${big}]}}`],
    [
      'stay under a name of their own',
      `{"__proto__":${big}}`,
      JSON.parse(`{"__proto__":${rounded}}`),
      `{"__proto__":${big}}`,
    ],
    ['stay where they are negative zero', '{"a":-0}', { a: 0, b: 0 }, '{"a":-0,"b":0}'],
    ['stay where they are too many for any number', '{"a":1e999}', { a: null, b: null }, '{"a":1e999,"b":null}'],
    ['give way to what the code wrote', `{"a":${big}}`, { a: 5 }, '{"a":5}'],
    ['go with what the code took out', `{"a":${big}}`, {}, '{}'],
    ['are not given to a short number by chance', '{"a":0.1000000000000000055}', { b: 0.1 }, '{"b":0.1}'],
    ['are missed in a text', `{"a":${big}}`, { a: Number(big), b: `no ${Number(big)}` }, `lost ${big}`],
    [
      'are not missed in a text that had them',
      `{"a":${big},"b":"${rounded}"}`,
      { a: 1, b: rounded },
      `{"a":1,"b":"${rounded}"}`,
    ],
  ])('%s', (_name, text, after, expected) => {
    expect(kept(text, after)).toBe(expected);
  });

  it('are missed in an id', () => {
    expect(kept(`{"a":${big}}`, { a: Number(big) }, ['seen', rounded])).toBe(`lost ${big}`);
  });
});
