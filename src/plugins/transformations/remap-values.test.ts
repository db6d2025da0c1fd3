import { describe, expect, it } from 'vitest';
import { remapValues } from './remap-values.ts';
import { parsed, transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

const settings = { propertyNames: 'a, b.c', valueMapping: { x: 'y', y: 'z', '5': null, true: [1] } };

describe('remap values', () => {
  it('does what its example shows', () => {
    const { settings: given, before, after } = remapValues.example;
    expect(transform(remapValues, given, before)).toEqual(after);
  });

  it.each([
    [{ a: 'x' }, { a: 'y' }],
    [{ a: 5 }, { a: null }],
    [{ a: true }, { a: [1] }],
    [{ a: 'constructor' }, { a: 'constructor' }],
    [{ a: null }, { a: null }],
    [{ a: ['x'] }, { a: ['x'] }],
    [{ other: 'x' }, { other: 'x' }],
    [{ b: { c: 'x' } }, { b: { c: 'y' } }],
    [
      { $set: { a: 'x' }, $set_once: { a: 'y' } },
      { $set: { a: 'y' }, $set_once: { a: 'z' } },
    ],
    [{ $set: null }, { $set: null }],
  ])('%j becomes %j', (before, after) => {
    expect(transformed(remapValues, settings, before)).toEqual(after);
  });

  it('one event never shares a value with another', () => {
    const first = transformed(remapValues, settings, { a: true });
    (first['a'] as number[]).push(2);
    expect(transformed(remapValues, settings, { a: true })).toEqual({ a: [1] });
  });

  it('names of object members are plain names', () => {
    const after = transformed(remapValues, { ...settings, propertyNames: '__proto__' }, parsed('{"__proto__": "x"}'));
    expect(JSON.stringify(after)).toBe('{"__proto__":"y"}');
  });

  it.each([
    [{ propertyNames: ',', valueMapping: {} }, 'at least one property'],
    [{ propertyNames: 'a', valueMapping: '[]' }, 'expected a JSON object'],
  ])('refuses %j', (given, message) => {
    expect(() => remapValues.create(given, testHost())).toThrow(message);
  });
});
