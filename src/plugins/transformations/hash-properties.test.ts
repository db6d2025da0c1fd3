import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashProperties } from './hash-properties.ts';
import { parsed, transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

const salt = 'some-salt';
const hashed = (text: string): string =>
  createHash('sha256')
    .update(text + salt)
    .digest('hex');

describe('hash properties', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = hashProperties.example;
    expect(transform(hashProperties, settings, before)).toEqual(after);
  });

  it('hashes values of any type by path; empty ones stay', () => {
    const settings = { salt, propertiesToHash: 'a, b.c, n, o, none, empty, null' };
    const before = { a: 'x', b: { c: 'y', d: 'z' }, n: 41, o: { p: 1 }, empty: '', null: null, other: 'x' };
    expect(transformed(hashProperties, settings, before)).toEqual({
      ...before,
      a: hashed('x'),
      b: { c: hashed('y'), d: 'z' },
      n: hashed('41'),
      o: hashed('{"p":1}'),
    });
  });

  it('without a salt it is the SHA-256 of the text', () => {
    const expected = createHash('sha256').update('x').digest('hex');
    expect(transformed(hashProperties, { propertiesToHash: 'a' }, { a: 'x' })).toEqual({ a: expected });
  });

  it('fields are hashed on the person too, unless disabled', () => {
    const before = { email: 'e', $set: { email: 'e', name: 'n' }, $set_once: { email: 'f' } };
    const settings = { salt, privateFields: 'email' };
    expect(transformed(hashProperties, settings, before)).toEqual({
      email: hashed('e'),
      $set: { email: hashed('e'), name: 'n' },
      $set_once: { email: hashed('f') },
    });
    expect(transformed(hashProperties, { ...settings, includeSetProperties: 'No' }, before)).toEqual({
      ...before,
      email: hashed('e'),
    });
  });

  it.each([
    { privateFields: 'distinct_id, $device_id' },
    { hashDistinctId: 'Yes' },
    { privateFields: 'distinct_id', hashDistinctId: 'Yes', propertiesToHash: '$anon_distinct_id, distinct_id' },
  ])('%j: ids that refer to a distinct_id stay equal to it, each hashed once', (settings) => {
    const properties = { distinct_id: 'u1', $anon_distinct_id: 'a', alias: 'u1', $device_id: 'd', $user_id: 5 };
    expect(transform(hashProperties, { salt, ...settings }, { distinct_id: 'u1', properties })).toEqual({
      event: 'tested',
      distinct_id: hashed('u1'),
      properties: {
        distinct_id: hashed('u1'),
        $anon_distinct_id: hashed('a'),
        alias: hashed('u1'),
        $device_id: hashed('d'),
        $user_id: 5,
      },
    });
  });

  it('a property in both lists is hashed once', () => {
    const settings = { salt, privateFields: 'a', propertiesToHash: 'a' };
    expect(transformed(hashProperties, settings, { a: 'x' })).toEqual({ a: hashed('x') });
  });

  it('names of object members are plain names', () => {
    const settings = { salt, propertiesToHash: '__proto__, constructor' };
    const after = transformed(hashProperties, settings, parsed('{"__proto__": "x"}'));
    expect(JSON.stringify(after)).toBe(`{"__proto__":"${hashed('x')}"}`);
  });

  it('refuses to hash nothing', () => {
    expect(() => hashProperties.create({ salt }, testHost())).toThrow('nothing to hash');
  });
});
