import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { propertyFlattener } from './property-flattener.ts';
import { parsed, transform, transformed } from './transformation.fixture.ts';

/** What the transformation added. */
function added(before: JsonObject, separator = '__'): JsonObject {
  const after = transformed(propertyFlattener, { separator }, before);
  expect(after).toMatchObject(before);
  return Object.fromEntries(Object.entries(after).filter(([key]) => !Object.hasOwn(before, key)));
}

describe('property flattener', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = propertyFlattener.example;
    expect(transform(propertyFlattener, settings, before)).toEqual(after);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['objects', { a: { b: { c: { d: 1 } } } }, { a__b__c__d: 1 }],
    ['lists', { a: [1, { b: 2 }, [3]] }, { a__0: 1, a__1__b: 2, a__2__0: 3 }],
    ['null, and an object without anything', { a: { b: null, c: {} } }, { a__b: null, a__c: {} }],
    ['no list without anything', { a: { b: [] }, c: [], d: {} }, {}],
    ['nothing flat', { a: 1, b: 'x', c: null }, {}],
    [
      'not names used by processing',
      { $elements: [1], $groups: { a: 'b' }, a: { $groups: { b: 1 }, c: 1 } },
      { a__c: 1 },
    ],
    ['an inner $set as any other', { a: { $set: { b: 1 } } }, { a__$set__b: 1 }],
  ])('%s', (_name, before, expected) => {
    expect(added(before)).toEqual(expected);
  });

  it.each(['.', '>', '/'])('the separator %s', (separator) => {
    expect(added({ a: { b: { c: 1 } } }, separator)).toEqual({ [`a${separator}b${separator}c`]: 1 });
  });

  it('person and group properties are flattened in place', () => {
    const inner = { a: { b: 1 }, $set: { c: 1 } };
    for (const name of ['$set', '$set_once', '$group_set']) {
      expect(transformed(propertyFlattener, {}, { [name]: inner })).toEqual({
        [name]: { ...inner, a__b: 1, $set__c: 1 },
      });
    }
    for (const value of [null, 'text', 5] satisfies JsonValue[]) {
      expect(transformed(propertyFlattener, {}, { $set: value })).toEqual({ $set: value });
    }
  });

  it('an existing value of a name is replaced', () => {
    expect(transformed(propertyFlattener, {}, { a: { b: 1 }, a__b: 2 })).toEqual({ a: { b: 1 }, a__b: 1 });
  });

  it.each(['$autocapture', 'organization usage report'])('does not change %s', (event) => {
    expect(transform(propertyFlattener, {}, { event, properties: { a: { b: 1 } } })?.properties).toEqual({
      a: { b: 1 },
    });
  });

  it('an event with very many or very long names gets a limited number', () => {
    const many = { a: Array.from({ length: 50_000 }, (_, index) => index) };
    expect(Object.keys(added(many))).toHaveLength(10_000);
    let deep: JsonValue = 1;
    for (let level = 0; level < 40; level++) deep = { ['k'.repeat(100)]: deep, b: 1 };
    const names = Object.keys(added({ a: deep }));
    expect(names.length).toBeGreaterThan(5);
    expect(Math.max(...names.map((name) => name.length))).toBeLessThanOrEqual(1000);
  });

  it('names of object members are plain names, and no prototype is changed', () => {
    const text = '{"": {"proto": {"": {"x": 1}}}, "__proto__": {"y": 2}, "constructor": {"prototype": {"z": 3}}}';
    const after = transformed(propertyFlattener, {}, parsed(text));
    expect(Object.keys(after)).toEqual(
      expect.arrayContaining(['__proto____x', '__proto____y', 'constructor__prototype__z']),
    );
    const own = transformed(propertyFlattener, {}, parsed('{"": {"proto": {"": 1}}}'));
    expect(JSON.stringify(own)).toBe('{"":{"proto":{"":1}},"__proto__":1}');
    expect(Object.getPrototypeOf(own)).toBe(Object.prototype);
  });
});
