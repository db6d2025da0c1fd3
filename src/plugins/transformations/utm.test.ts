import { describe, expect, it } from 'vitest';
import { testHost } from '../../../test/support/transformation-host.ts';
import { parsed, transform, transformed } from './transformation.fixture.ts';
import { utm } from './utm.ts';

const url = (query: string) => ({ $current_url: `https://a.b/${query}` });
const alone = { person: 'No' };

describe('UTM', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = utm.example;
    expect(transform(utm, settings, before)).toEqual(after);
  });

  it.each([
    ['?utm_source=a&gclid=B&x=1', { utm_source: 'a', gclid: 'B' }],
    ['?utm_source=a%20b+c', { utm_source: 'a b c' }],
    ['?utm_source=a&utm_source=b', { utm_source: 'a' }],
    ['?utm_source=&utm_medium', {}],
    ['?x=1#?utm_source=a', {}],
    ['', {}],
  ])('%s', (query, expected) => {
    expect(transformed(utm, alone, url(query))).toEqual({ ...url(query), ...expected });
  });

  it('keeps existing properties, or replaces them on request', () => {
    const before = { ...url('?utm_source=new&utm_medium=m'), utm_source: 'old' };
    expect(transformed(utm, {}, before)).toEqual({
      ...before,
      utm_medium: 'm',
      $set: { utm_medium: 'm' },
      $set_once: { initial_utm_medium: 'm' },
    });
    expect(transformed(utm, { ...alone, replace: 'Yes' }, before)).toMatchObject({ utm_source: 'new' });
  });

  it('reads the first property with any parameter, and cleans all of them', () => {
    const before = { first: 'x', second: '/p?utm_source=2&k=1#h', third: '/p?utm_source=3' };
    const settings = { ...alone, sources: 'first, second, third' };
    expect(transformed(utm, settings, before)).toEqual({ ...before, utm_source: '2' });
    expect(transformed(utm, { ...settings, clean_url: 'Yes' }, before)).toEqual({
      first: 'x',
      second: '/p?k=1#h',
      third: '/p',
      utm_source: '2',
    });
  });

  it('cleans values by a table, after the change to lower case, and keeps click ids unchanged', () => {
    const settings = { ...alone, lower_case: 'Yes', values: '{"utm_source": {"FB": "facebook"}}' };
    expect(transformed(utm, settings, url('?utm_source=Fb&utm_medium=CPC&gclid=AbC'))).toMatchObject({
      utm_source: 'facebook',
      utm_medium: 'cpc',
      gclid: 'AbC',
    });
  });

  it('names of object members are plain names', () => {
    const settings = { parameters: '__proto__, constructor' };
    const after = transformed(utm, settings, url('?__proto__=1&constructor=2'));
    expect(after).toEqual(
      parsed(
        '{"$current_url": "https://a.b/?__proto__=1&constructor=2", "__proto__": "1", "constructor": "2", ' +
          '"$set": {"__proto__": "1", "constructor": "2"}, ' +
          '"$set_once": {"initial___proto__": "1", "initial_constructor": "2"}}',
      ),
    );
    expect(Object.getPrototypeOf(after)).toBe(Object.prototype);
  });

  it.each([{ parameters: ' , ' }, { values: [] }, { values: { a: 'b' } }, { values: { a: { b: 1 } } }])(
    'refuses %j',
    (settings) => {
      expect(() => utm.create({ parameters: 'a', ...settings }, testHost())).toThrow('setting "');
    },
  );
});
