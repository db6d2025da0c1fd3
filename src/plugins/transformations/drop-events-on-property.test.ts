import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import { dropEventsOnProperty } from './drop-events-on-property.ts';
import { parsed, transform } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

function drops(settings: Record<string, string>, properties: JsonObject): boolean {
  return transform(dropEventsOnProperty, settings, { properties }) === null;
}

describe('drop events on property', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = dropEventsOnProperty.example;
    expect(transform(dropEventsOnProperty, settings, before)).toEqual(after);
  });

  it.each<[JsonObject, boolean]>([
    [{ p: 'x' }, true],
    [{ p: 1 }, true],
    [{ p: [] }, true],
    [{ p: {} }, true],
    [{ p: '' }, false],
    [{ p: 0 }, false],
    [{ p: false }, false],
    [{ p: null }, false],
    [{ q: 'x' }, false],
    [{}, false],
  ])('without values, %j: dropped is %s', (properties, expected) => {
    expect(drops({ property_key: 'p' }, properties)).toBe(expected);
  });

  it.each<[JsonObject, boolean]>([
    [{ p: 'a' }, true],
    [{ p: 'b' }, true],
    [{ p: 5 }, true],
    [{ p: true }, true],
    [{ p: 'A' }, false],
    [{ p: 'a,b' }, false],
    [{ p: ['a'] }, false],
    [{ p: 6 }, false],
  ])('with values, %j: dropped is %s', (properties, expected) => {
    expect(drops({ property_key: 'p', property_values: 'a, b,5,true' }, properties)).toBe(expected);
  });

  it('reads nested properties, and never object members', () => {
    expect(drops({ property_key: 'a.b' }, { a: { b: 1 } })).toBe(true);
    for (const property_key of ['constructor', '__proto__', 'a.toString']) {
      expect(drops({ property_key }, { a: {} })).toBe(false);
    }
    expect(drops({ property_key: '__proto__' }, parsed('{"__proto__": 1}'))).toBe(true);
  });

  it('refuses to drop nothing', () => {
    expect(() => dropEventsOnProperty.create({ property_key: ' ' }, testHost())).toThrow('name of a property');
  });
});
