import { describe, expect, it } from 'vitest';
import { rename } from './rename.ts';
import { parsed, transform, transformed } from './test-transformation.ts';
import { testHost } from './test-host.ts';

const properties = (table: object, more: Record<string, string> = {}) => ({
  properties: JSON.stringify(table),
  ...more,
});

describe('rename', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = rename.example;
    expect(transform(rename, settings, before)).toEqual(after);
  });

  it('renames events by their whole name only', () => {
    const settings = { events: { old: 'new' } };
    expect(transform(rename, settings, { event: 'old' })?.event).toBe('new');
    for (const event of ['Old', 'old ', 'constructor', '__proto__']) {
      expect(transform(rename, settings, { event })?.event).toBe(event);
    }
  });

  it.each([
    ['any kind of value', { a: 'b' }, { a: [1, null] }, { b: [1, null] }],
    ['null', { a: 'b' }, { a: null }, { b: null }],
    ['nothing that is missing', { a: 'b' }, { c: 1 }, { c: 1 }],
    ['names that swap', { a: 'b', b: 'a' }, { a: 1, b: 2 }, { a: 2, b: 1 }],
    ['out of an object', { 'a.x': 'x' }, { a: { x: 1, y: 2 } }, { a: { y: 2 }, x: 1 }],
    ['into an object', { x: 'a.b.x' }, { x: 1 }, { a: { b: { x: 1 } } }],
    ['not into what is no object', { x: 'a.b' }, { x: 1, a: 'text' }, { x: 1, a: 'text' }],
    ['to itself', { a: 'a', b: 'c' }, { a: 1 }, { a: 1 }],
  ])('%s', (_name, table, before, after) => {
    expect(transformed(rename, properties(table), before)).toEqual(after);
  });

  it('leaves both when the new name is taken, or replaces it when told to', () => {
    const before = { a: 1, b: 2, 'x.y': 3, z: 4 };
    const table = { a: 'b', 'x.y': 'z' };
    expect(transformed(rename, properties(table), before)).toEqual(before);
    expect(transformed(rename, properties(table, { existing: 'Replace it' }), before)).toEqual({ b: 1, z: 3 });
  });

  it('names of every object are plain names, and no prototype changes', () => {
    const table = parsed('{"a": "__proto__", "__proto__": "b", "toString": "c"}');
    const after = transformed(rename, { properties: table }, parsed('{"a": {"x": 1}, "__proto__": {"y": 1}}'));
    expect(JSON.stringify(after)).toBe('{"__proto__":{"x":1},"b":{"y":1}}');
    expect(transformed(rename, properties({ a: 'constructor.prototype.z' }), { a: 1 })).toEqual({
      constructor: { prototype: { z: 1 } },
    });
    expect(({} as Record<string, unknown>)['z']).toBeUndefined();
  });

  it.each([
    [{}, 'give "events" or "properties"'],
    [{ events: '[]' }, '"events": expected a JSON object'],
    [{ events: '{"a": 1}' }, 'expected a new name for "a"'],
    [{ properties: '{"a": ""}' }, 'expected a new name for "a"'],
    [{ properties: 'x' }, '"properties": expected JSON'],
  ])('refuses %j', (settings, message) => {
    expect(() => rename.create(settings, testHost())).toThrow(message);
  });
});
