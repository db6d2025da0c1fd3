import { describe, expect, it } from 'vitest';
import { parsed, transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';
import { urlParameters } from './url-parameters.ts';

const at = (query: string) => ({ $current_url: `https://example.com/p${query}` });

describe('URL parameters to properties', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = urlParameters.example;
    expect(transform(urlParameters, settings, before)).toEqual(after);
  });

  it.each([
    ['?a=1&b=2&c=3', { a: '1', b: '2' }],
    ['?a=x%20y+z&a', { a: '["x y z",""]' }],
    ['?a=1&a=2&a=3', { a: '["1","2","3"]' }],
    ['?a=%zz', { a: '%zz' }],
    ['?A=1', {}],
    ['?a=1#?b=2', { a: '1' }],
    ['#?a=1', {}],
    ['?', {}],
    ['', {}],
  ])('%s', (query, expected) => {
    expect(transformed(urlParameters, { parameters: 'a, b' }, at(query))).toEqual({ ...at(query), ...expected });
  });

  it('ignores case on request; the property takes the name as listed', () => {
    const settings = { parameters: 'GclId', ignoreCase: 'true', prefix: 'p_', suffix: '_s' };
    expect(transformed(urlParameters, settings, at('?GCLID=1'))).toMatchObject({ p_GclId_s: '1' });
  });

  it('reads another property, which need not be a complete address', () => {
    const settings = { parameters: 'a', source: 'link.to' };
    const properties = { link: { to: '/x?a=1' } };
    expect(transformed(urlParameters, settings, properties)).toEqual({ ...properties, a: '1' });
  });

  it.each([5, null, ['?a=1'], {}])('does not change an event whose address is %j', (url) => {
    expect(transformed(urlParameters, { parameters: 'a' }, { $current_url: url })).toEqual({ $current_url: url });
  });

  it.each([
    [{}, {}],
    [{ setAsUserProperties: 'true' }, { $set: { kept: 1, a: '1' } }],
    [{ setAsInitialUserProperties: 'true' }, { $set_once: { initial_a: '1' } }],
    [
      { setAsUserProperties: 'true', setAsInitialUserProperties: 'true' },
      { $set: { kept: 1, a: '1' }, $set_once: { initial_a: '1' } },
    ],
  ])('on the person with %j', (more, expected) => {
    const properties = { ...at('?a=1'), $set: { kept: 1 } };
    const after = transformed(urlParameters, { parameters: 'a', ...more }, properties);
    expect(after).toEqual({ ...properties, a: '1', ...expected });
  });

  it('custom names have no prefix and need not be listed', () => {
    const settings = { parameters: 'a, fid', prefix: 'p_', customNames: { fid: 'follower_id' } };
    expect(transformed(urlParameters, settings, at('?fid=5&a=1'))).toMatchObject({ p_a: '1', follower_id: '5' });
    expect(transformed(urlParameters, { customNames: '{"b": "c"}' }, at('?b=1'))).toMatchObject({ c: '1' });
  });

  it('always writes JSON on request', () => {
    const settings = { parameters: 'a', alwaysJson: 'true' };
    expect(transformed(urlParameters, settings, at('?a=1'))).toMatchObject({ a: '["1"]' });
  });

  it('names of object members are plain names, and no prototype is changed', () => {
    const settings = { parameters: '__proto__, constructor', setAsUserProperties: 'true' };
    const after = transformed(urlParameters, settings, at('?__proto__=1&constructor=2'));
    expect(JSON.stringify(after)).toContain('"__proto__":"1","$set":{"__proto__":"1","constructor":"2"}');
    expect(Object.getPrototypeOf(after)).toBe(Object.prototype);
    expect(transformed(urlParameters, { parameters: 'a' }, parsed('{"__proto__": {"$current_url": "?a=1"}}'))).toEqual(
      parsed('{"__proto__": {"$current_url": "?a=1"}}'),
    );
  });

  it.each([
    [{ parameters: '' }, 'at least one parameter'],
    [{ parameters: 'a', customNames: '[]' }, 'expected a JSON object'],
    [{ customNames: { a: 1 } }, 'expected the name of a property for "a"'],
  ])('refuses %j', (settings, message) => {
    expect(() => urlParameters.create(settings, testHost())).toThrow(message);
  });
});
