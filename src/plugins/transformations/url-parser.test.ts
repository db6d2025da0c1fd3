import { describe, expect, it } from 'vitest';
import { transform, transformed } from './transformation.fixture.ts';
import { urlParser } from './url-parser.ts';

describe('URL parser', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = urlParser.example;
    expect(transform(urlParser, settings, before)).toEqual(after);
  });

  it.each([
    ['https://a.b/?x=1&x=2', { url_x: '2' }],
    ['https://a.b/?x=a%20b+c&y', { url_x: 'a b c', url_y: '' }],
    ['https://a.b/?x=1#?y=2', { url_x: '1' }],
    ['/path?x=1', {}],
    ['https://a.b/', {}],
    ['', {}],
  ])('%s', (url, expected) => {
    expect(transformed(urlParser, {}, { $current_url: url })).toEqual({ $current_url: url, ...expected });
  });

  it.each([5, null, ['?a=1'], {}])('does not change an event whose address is %j', (url) => {
    expect(transformed(urlParser, {}, { $current_url: url })).toEqual({ $current_url: url });
  });

  it('accepts another property and prefix; names of object members are plain names', () => {
    const settings = { source: 'link.to', prefix: '__' };
    const after = transformed(urlParser, settings, { link: { to: 'https://a.b/?proto__=1&x=2' } });
    expect(JSON.stringify(after)).toBe('{"link":{"to":"https://a.b/?proto__=1&x=2"},"__proto__":"1","__x":"2"}');
  });
});
