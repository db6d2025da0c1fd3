import { describe, expect, it } from 'vitest';
import { rename } from './rename.ts';
import { parsed, transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

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

  it('keeps both if the new name exists, or replaces it on request', () => {
    const before = { a: 1, b: 2, 'x.y': 3, z: 4 };
    const table = { a: 'b', 'x.y': 'z' };
    expect(transformed(rename, properties(table), before)).toEqual(before);
    expect(transformed(rename, properties(table, { existing: 'Replace it' }), before)).toEqual({ b: 1, z: 3 });
  });

  it('names of object members are plain names, and no prototype is changed', () => {
    const table = parsed('{"a": "__proto__", "__proto__": "b", "toString": "c"}');
    const after = transformed(rename, { properties: table }, parsed('{"a": {"x": 1}, "__proto__": {"y": 1}}'));
    expect(JSON.stringify(after)).toBe('{"__proto__":{"x":1},"b":{"y":1}}');
    expect(transformed(rename, properties({ a: 'constructor.prototype.z' }), { a: 1 })).toEqual({
      constructor: { prototype: { z: 1 } },
    });
    expect(({} as Record<string, unknown>)['z']).toBeUndefined();
  });

  it('person properties, including those in $unset', () => {
    const settings = { person_properties: { a: 'b', 'c.d': 'e' } };
    const before = { a: 1, $set: { a: 1, c: { d: 2 } }, $set_once: { a: 3 }, $unset: ['a', 'x', 5] };
    expect(transformed(rename, settings, before)).toEqual({
      a: 1,
      $set: { b: 1, c: {}, e: 2 },
      $set_once: { b: 3 },
      $unset: ['b', 'x', 5],
    });
    expect(transformed(rename, settings, { $set: null, $unset: { a: 1 } })).toEqual({ $set: null, $unset: { b: 1 } });
  });

  it('group types', () => {
    const settings = { group_types: { account: 'company' } };
    const before = { account: 1, $groups: { account: 'a', team: 't' }, $group_type: 'account', $group_key: 'account' };
    expect(transformed(rename, settings, before)).toEqual({
      account: 1,
      $groups: { company: 'a', team: 't' },
      $group_type: 'company',
      $group_key: 'account',
    });
  });

  it('ignores case on request', () => {
    const settings = { events: { 'Sign Up': 'x' }, properties: { Plan: 'plan', 'A.b': 'c' }, ignore_case: 'Yes' };
    expect(transform(rename, settings, { event: 'SIGN UP' })?.event).toBe('x');
    expect(transformed(rename, settings, { PLAN: 1 })).toEqual({ plan: 1 });
    expect(transformed(rename, settings, { plan: 1 })).toEqual({ plan: 1 });
    expect(transformed(rename, settings, { 'a.B': 1 })).toEqual({ c: 1 });
    expect(transformed(rename, settings, { A: { b: 1 } })).toEqual({ A: {}, c: 1 });
  });

  it('reverses the same tables', () => {
    const tables = {
      events: { a: 'b', b: 'a' },
      properties: { x: 'y', 'p.q': 'r', old: 'p.new' },
      person_properties: { m: 'n' },
      group_types: { g: 'h' },
    };
    const properties = { x: 1, p: { q: 2 }, old: 3, $set: { m: 4 }, $groups: { g: 'k' }, other: 5 };
    const there = transform(rename, tables, { event: 'a', properties });
    if (there === null) throw new Error('expected the event to be kept');
    expect(there).toMatchObject({ event: 'b', properties: { y: 1, r: 2, p: { new: 3 } } });
    expect(transform(rename, { ...tables, direction: 'From new to old' }, there)).toMatchObject({
      event: 'a',
      properties,
    });
  });

  it('a large table does the same as a small one', () => {
    const more = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`old ${index}`, `new ${index}`]));
    const small = { a: 'b', b: 'a', 'n.x': 'x', 'd.e': 'f', __proto__x: 'z' };
    const before = parsed('{"a": 1, "b": [2], "n": {"x": 3}, "d.e": 4, "d": {"e": 5}, "__proto__": 6, "k": null}');
    const expected = transformed(rename, { properties: small }, before);
    expect(transformed(rename, { properties: { ...small, ...more } }, before)).toEqual(expected);
    expect(transformed(rename, { properties: { ...small, ...more } }, { 'old 499': 1 })).toEqual({ 'new 499': 1 });
  });

  it.each([
    [{ events: { a: 'x', b: 'x' }, direction: 'From new to old' }, '"a" and "b" both became "x"'],
    [{}, 'give "events", "properties"'],
    [{ events: '[]' }, '"events": expected a JSON object'],
    [{ events: '{"a": 1}' }, 'expected a new name for "a"'],
    [{ properties: '{"a": ""}' }, 'expected a new name for "a"'],
    [{ properties: 'x' }, '"properties": expected JSON'],
  ])('refuses %j', (settings, message) => {
    expect(() => rename.create(settings, testHost())).toThrow(message);
  });
});
