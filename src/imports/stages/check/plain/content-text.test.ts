import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalJson } from '../../../../base/canonical-json.ts';
import { writeContent } from './content-text.ts';

function written(json: string): string | undefined {
  const bytes = Buffer.from(`${json}\n`);
  const target = Buffer.alloc(bytes.length + 8);
  const end = writeContent(bytes, 0, target, 0);
  return end < 0 ? undefined : target.toString('utf8', 0, end);
}

const keys = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '$', ' ', '!', '_', 'é', 'ß', '中') }),
  fc.constantFrom('event', 'properties', 'distinct_id', '$city', '\ud83d\ude00', '\ufffd', '#'),
);
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.string(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => Math.round(number * 100) / 100 || 0),
    fc.constantFrom(true, false, null, '', '"', '\\', '{', '}]', 0),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 6 }),
  ),
})).value;

it('is what canonicalJson says, with or without white space', () => {
  const known = fc.property(values, (value) => {
    const json = JSON.stringify(value);
    if (json.includes('e+') || json.includes('e-')) return true;
    const own = written(json);
    // Only keys beyond the plane of most writing systems are given up.
    return own === canonicalJson(JSON.parse(json)) || (own === undefined && /[\ue000-\uffff\ud800-\udfff]/.test(json));
  });
  expect(fc.check(known, { numRuns: 1000 }).counterexample).toBeNull();
  expect(written('{ "b" : 1 ,\t"a": {"d":[{"z":1,"y":2}],"c":"x"} }')).toBe(
    '{"a":{"c":"x","d":[{"y":2,"z":1}]},"b":1}',
  );
});

it('an object of very many members is given up', () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, 1]));
  expect(written(JSON.stringify(many))).toBeUndefined();
});
