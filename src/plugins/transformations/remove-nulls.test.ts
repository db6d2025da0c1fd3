import { describe, expect, it } from 'vitest';
import { removeNulls } from './remove-nulls.ts';
import { parsed, transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

const deep = { a: null, l2: { a: null, b: 0, l3: { a: null, l4: { a: null, b: '' } } } };

describe('remove nulls', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = removeNulls.example;
    expect(transform(removeNulls, settings, before)).toEqual(after);
  });

  it.each([
    ['1', { l2: deep.l2 }],
    ['3', { l2: { b: 0, l3: { l4: { a: null, b: '' } } } }],
    ['4', { l2: { b: 0, l3: { l4: { b: '' } } } }],
  ])('looks %s levels deep', (levels, expected) => {
    expect(transformed(removeNulls, { levels }, deep)).toEqual(expected);
  });

  it('lists close up, and count as a level', () => {
    const before = { a: [null, 1, null, [null, { b: null, c: [null] }]] };
    expect(transformed(removeNulls, {}, before)).toEqual({ a: [1, [{ b: null, c: [null] }]] });
    expect(transformed(removeNulls, { levels: '9' }, before)).toEqual({ a: [1, [{ c: [] }]] });
  });

  it('empty values stay', () => {
    const before = { a: '', b: 0, c: false, d: {}, e: [] };
    expect(transformed(removeNulls, {}, before)).toEqual(before);
  });

  it('names of object members are plain names', () => {
    const after = transformed(
      removeNulls,
      {},
      parsed('{"__proto__": null, "constructor": {"__proto__": null, "a": 1}}'),
    );
    expect(JSON.stringify(after)).toBe('{"constructor":{"a":1}}');
  });

  it.each(['0', '21', 'x'])('refuses %s levels', (levels) => {
    expect(() => removeNulls.create({ levels }, testHost())).toThrow('whole number from 1 to 20');
  });
});
