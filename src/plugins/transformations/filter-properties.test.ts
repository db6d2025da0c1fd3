import { describe, expect, it } from 'vitest';
import { filterProperties } from './filter-properties.ts';
import { parsed, transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

const keep = { mode: 'Keep only these' };

describe('filter properties', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = filterProperties.example;
    expect(transform(filterProperties, settings, before)).toEqual(after);
  });

  it('removes by name and by path; missing properties are ignored', () => {
    const settings = { properties: 'a, b.c, d.e.f, g.h, missing, i.0' };
    const properties = { a: 1, b: { c: 1, x: 2 }, d: { e: { f: 1 } }, g: 'text', i: [1, 2], z: null };
    expect(transformed(filterProperties, settings, properties)).toEqual({
      b: { x: 2 },
      d: { e: {} },
      g: 'text',
      i: [1, 2],
      z: null,
    });
  });

  it('a property whose name contains a dot takes precedence over a path', () => {
    const properties = { 'b.c': 1, b: { c: 2 } };
    expect(transformed(filterProperties, { properties: 'b.c' }, properties)).toEqual({ b: { c: 2 } });
  });

  it('keeps only listed properties, and those that start with $', () => {
    const properties = { a: 1, b: { c: 1, x: 2 }, $set: { email: 'e' }, other: 1, 'd.e': 3 };
    const settings = { ...keep, properties: 'a, b.c, d.e, missing' };
    expect(transformed(filterProperties, settings, properties)).toEqual({
      $set: { email: 'e' },
      a: 1,
      b: { c: 1 },
      'd.e': 3,
    });
    expect(transformed(filterProperties, { ...settings, keep_system_properties: 'No' }, properties)).toEqual({
      a: 1,
      b: { c: 1 },
      'd.e': 3,
    });
  });

  it('removes from the person properties on request', () => {
    const before = { a: 1, $set: { a: 2, b: 3 }, $set_once: { a: 4 } };
    const settings = { properties: 'a' };
    const both = { ...settings, includeSetProperties: 'Yes', includeSetOnceProperties: 'Yes' };
    expect(transformed(filterProperties, settings, before)).toEqual({ $set: { a: 2, b: 3 }, $set_once: { a: 4 } });
    expect(transformed(filterProperties, both, before)).toEqual({ $set: { b: 3 }, $set_once: {} });
    expect(transformed(filterProperties, both, { a: 1, $set: null })).toEqual({ $set: null });
  });

  it('only for the named events', () => {
    const settings = { properties: 'a', events: 'x, y' };
    expect(transform(filterProperties, settings, { event: 'z', properties: { a: 1 } })?.properties).toEqual({ a: 1 });
    expect(transform(filterProperties, settings, { event: 'y', properties: { a: 1 } })?.properties).toEqual({});
  });

  it('names of object members are plain names, and no prototype is changed', () => {
    const properties = parsed('{"__proto__": {"x": 1}, "constructor": {"prototype": {"y": 1}}, "a": 1}');
    const kept = transformed(
      filterProperties,
      { ...keep, properties: '__proto__, constructor.prototype.y' },
      properties,
    );
    expect(JSON.stringify(kept)).toBe('{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}');
    expect(transformed(filterProperties, { properties: '__proto__, constructor, toString' }, properties)).toEqual({
      a: 1,
    });
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  it('refuses to do nothing', () => {
    expect(() => filterProperties.create({ properties: ' , ' }, testHost())).toThrow('at least one property');
  });
});
