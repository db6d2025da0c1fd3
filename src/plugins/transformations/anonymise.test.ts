import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { anonymise } from './anonymise.ts';
import { parsed, transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

const salt = 'some-salt';
const hashed = (text: string): string =>
  createHash('sha256')
    .update(text + salt)
    .digest('hex');

describe('anonymise', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = anonymise.example;
    expect(transform(anonymise, settings, before)).toEqual(after);
  });

  it.each([
    ['https://e.com/a/b?q=1', 'https://e.com/a/b'],
    ['https://e.com/a#/x/Some/y1/z?q=1', 'https://e.com/a#/x/:id/:id/z'],
    ['https://user:secret@e.com:8080/a', 'https://e.com:8080/a'],
    ['https://e.com/a%3Fq=1', 'https://e.com/a'],
    ['https://e.com/%zz', 'https://e.com/%zz'],
    ['app://shop/cart?id=5', 'app://shop/cart'],
    ['/only/a/path?token=1', '/only/a/path'],
    ['not a url#token', 'not a url'],
  ])('%s becomes %s', ($current_url, expected) => {
    const before = { $current_url, $set: { $current_url }, $set_once: { $initial_current_url: $current_url } };
    expect(transformed(anonymise, { salt, privateFields: 'x' }, before)).toEqual({
      $current_url: expected,
      $set: { $current_url: expected },
      $set_once: { $initial_current_url: expected },
    });
    expect(transformed(anonymise, { salt, privateFields: 'x', normalizeUrls: 'No' }, before)).toEqual(before);
  });

  it('hashes the named fields, and ids that refer to persons with the distinct_id', () => {
    const properties = {
      name: 'n',
      age: 41,
      userid: '',
      other: 'o',
      $anon_distinct_id: 'a',
      $current_url: null,
      $set: 5,
    };
    const settings = { salt, privateFields: 'distinct_id, name, age, userid, $device_id' };
    expect(transform(anonymise, settings, { distinct_id: 'u1', properties })).toEqual({
      event: 'tested',
      distinct_id: hashed('u1'),
      properties: { ...properties, name: hashed('n'), age: hashed('41'), $anon_distinct_id: hashed('a') },
    });
  });

  it('names of object members are plain names', () => {
    const settings = { salt, privateFields: '__proto__, constructor' };
    const after = transformed(anonymise, settings, parsed('{"__proto__": "x"}'));
    expect(JSON.stringify(after)).toBe(`{"__proto__":"${hashed('x')}"}`);
  });

  it.each([
    [{ privateFields: 'a' }, '"salt"'],
    [{ salt, privateFields: ',' }, 'at least one name'],
  ])('refuses %j', (settings, message) => {
    expect(() => anonymise.create(settings, testHost())).toThrow(message);
  });
});
