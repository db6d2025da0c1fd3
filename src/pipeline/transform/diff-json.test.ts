import { assert, constantFrom, dictionary, jsonValue, property, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import { diffJson, type Difference } from './diff-json.ts';

/** Applies the differences in order. */
function apply(value: JsonValue, differences: readonly Difference[]): JsonValue {
  const root: { value: JsonValue } = { value: structuredClone(value) };
  for (const { path, op, before, after } of differences) {
    const keys = path
      .split('/')
      .slice(1)
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    let holder = root as unknown as Record<string, JsonValue>;
    let key = 'value';
    for (const next of keys) {
      holder = holder[key] as Record<string, JsonValue>;
      key = next;
    }
    // `before` of an addition is undefined: nothing may be there.
    expect(Object.hasOwn(holder, key) ? holder[key] : undefined).toEqual(before);
    if (op !== 'remove') {
      Object.defineProperty(holder, key, { value: after, enumerable: true, configurable: true, writable: true });
    } else if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  }
  return root.value;
}

const anyJson = jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);

describe('the diff of two JSON values', () => {
  it('turns one value into the other when it is applied', () => {
    assert(
      property(anyJson, anyJson, (before, after) => {
        expect(apply(before, diffJson(before, after))).toEqual(after);
      }),
    );
  });

  it('turns a value into an edited copy when it is applied', () => {
    const both = tuple(
      dictionary(constantFrom('a', 'b/c', 'd~e', '__proto__', ''), anyJson),
      dictionary(constantFrom('a', 'b/c', 'd~e', '__proto__', ''), anyJson),
    );
    assert(
      property(both, ([one, two]) => {
        const before = JSON.parse(JSON.stringify(one)) as JsonValue;
        const after = JSON.parse(JSON.stringify({ ...one, ...two })) as JsonValue;
        expect(apply(before, diffJson(before, after))).toEqual(after);
      }),
    );
  });

  it('is empty for equal values, whatever the order of their keys', () => {
    assert(
      property(anyJson, (value) => {
        expect(diffJson(value, structuredClone(value))).toEqual([]);
      }),
    );
    expect(diffJson({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 })).toEqual([]);
  });

  it.each<[string, JsonValue, JsonValue, Difference[]]>([
    ['an added key', {}, { a: null }, [{ path: '/a', op: 'add', after: null }]],
    ['a removed key', { 'a/b': 1 }, {}, [{ path: '/a~1b', op: 'remove', before: 1 }]],
    ['another type', { a: [] }, { a: {} }, [{ path: '/a', op: 'replace', before: [], after: {} }]],
    [
      'a shorter list',
      [1, 2, 3],
      [9],
      [
        { path: '/0', op: 'replace', before: 1, after: 9 },
        { path: '/2', op: 'remove', before: 3 },
        { path: '/1', op: 'remove', before: 2 },
      ],
    ],
    ['a longer list', ['a'], ['a', 'b'], [{ path: '/1', op: 'add', after: 'b' }]],
    ['the whole value', 1, 2, [{ path: '', op: 'replace', before: 1, after: 2 }]],
  ])('%s', (_name, before, after, expected) => {
    expect(diffJson(before, after)).toEqual(expected);
  });
});
