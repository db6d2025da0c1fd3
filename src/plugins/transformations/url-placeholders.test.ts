import { describe, expect, it } from 'vitest';
import { testHost } from '../../../test/support/transformation-host.ts';
import { transform, transformed } from './transformation.fixture.ts';
import { urlPlaceholders } from './url-placeholders.ts';

describe('URL placeholders', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = urlPlaceholders.example;
    expect(transform(urlPlaceholders, settings, before)).toEqual(after);
  });

  it.each([
    ['https://a.b/users/ABC123/edit', 'https://a.b/users/:id/edit'],
    ['https://a.b/0190af6c-7a3b-7000-8000-1234567890ab/', 'https://a.b/:id/'],
    ['https://a.b/v2/12/abc/', 'https://a.b/v2/12/abc/'],
    ['https://A123.B/', 'https://A123.B/'],
    ['https://a.b', 'https://a.b'],
    ['/orders/12345', '/orders/:id'],
    ['https://a.b/x?id=12345#12345', 'https://a.b/x'],
    ['', ''],
  ])('%s → %s', (url, expected) => {
    expect(transformed(urlPlaceholders, {}, { $current_url: url })).toEqual({ $current_url: expected });
  });

  it('keeps parameters and hash on request, with ids in them replaced', () => {
    const settings = { removeQueryString: 'false', removeHash: 'false', replaceWith: '*' };
    const url = 'https://a.b/x?id=12345&tab=2&&flag#/orders/999?x=1';
    expect(transformed(urlPlaceholders, settings, { $current_url: url })).toEqual({
      $current_url: 'https://a.b/x?id=*&tab=2&flag#/orders/*',
    });
  });

  it('changes the same names on the person, with a custom pattern', () => {
    const settings = { urlProperties: 'page', regex: '^u-' };
    const before = {
      page: '/u-7/x',
      $set: { page: '/u-8' },
      $set_once: { page: '/u-9', other: '/u-9' },
      other: '/u-1',
    };
    expect(transformed(urlPlaceholders, settings, before)).toEqual({
      page: '/:id/x',
      $set: { page: '/:id' },
      $set_once: { page: '/:id', other: '/u-9' },
      other: '/u-1',
    });
  });

  it('refuses an invalid regular expression', () => {
    expect(() => urlPlaceholders.create({ urlProperties: 'page', regex: '(' }, testHost())).toThrow('setting "regex"');
  });
});
