import { describe, expect, it } from 'vitest';
import { testHost } from '../../../test/support/transformation-host.ts';
import { transform, transformed } from './transformation.fixture.ts';
import { urlMasking } from './url-masking.ts';

describe('URL masking', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = urlMasking.example;
    expect(transform(urlMasking, settings, before)).toEqual(after);
  });

  it.each([
    ['https://a.b/?token=1&x=2', 'https://a.b/?token=[REDACTED]&x=2'],
    ['https://a.b/?Access_Token=1', 'https://a.b/?Access_Token=[REDACTED]'],
    ['https://a.b/?to%6ben=1', 'https://a.b/?to%6ben=[REDACTED]'],
    ['https://a.b/?%zztoken=1', 'https://a.b/?%zztoken=[REDACTED]'],
    ['https://a.b/?token', 'https://a.b/?token=[REDACTED]'],
    ['?password=1', '?password=[REDACTED]'],
    ['https://a.b/#/x?email=1', 'https://a.b/#/x?email=[REDACTED]'],
    ['https://a.b/#access_token=1&state=2', 'https://a.b/#access_token=[REDACTED]&state=2'],
    ['https://a.b/?x=1#access_token=2', 'https://a.b/?x=1#access_token=[REDACTED]'],
    ['https://a.b/#token', 'https://a.b/#token'],
    ['https://ada:secret@a.b/x', 'https://[REDACTED]@a.b/x'],
    ['https://ghp_1@a.b', 'https://[REDACTED]@a.b'],
    ['https://a.b/@ada?x=1', 'https://a.b/@ada?x=1'],
    ['https://a.b/?token=a?b=c', 'https://a.b/?token=[REDACTED]'],
    ['https://a.b/?next=/c?token=1', 'https://a.b/?next=/c?token=[REDACTED]'],
    ['https://a.b/?next=%2Fc%3Ftoken%3D1&x=1', 'https://a.b/?next=%2Fc%3Ftoken%3D%5BREDACTED%5D&x=1'],
    ['#access_token=1', '#access_token=[REDACTED]'],
    ['https://a.b/?x=1&&y=2', 'https://a.b/?x=1&&y=2'],
    ['https://a.b/token=1', 'https://a.b/token=1'],
  ])('%s → %s', (url, expected) => {
    expect(transformed(urlMasking, {}, { $current_url: url })).toEqual({ $current_url: expected });
  });

  it('accepts a table as object or text, lists of parameters, and nested properties', () => {
    const table = { '$set.page': ['^id$', ''], page: 'a,,b' };
    const before = { page: '?a=1&id=2', $set: { page: '?a=1&id=2&ident=3' }, $current_url: '?a=1' };
    for (const urlProperties of [table, JSON.stringify(table)]) {
      expect(transformed(urlMasking, { urlProperties, maskWith: '*' }, before)).toEqual({
        page: '?a=*&id=2',
        $set: { page: '?a=1&id=*&ident=3' },
        $current_url: '?a=1',
      });
    }
  });

  it('masks every property with an address by default, at any depth', () => {
    const url = 'https://a.b/?token=1';
    const masked = 'https://a.b/?token=[REDACTED]';
    const before = { $referrer: url, list: [url, 'no address: token=1'], $set: { $initial_current_url: url } };
    expect(transformed(urlMasking, {}, before)).toEqual({
      $referrer: masked,
      list: [masked, 'no address: token=1'],
      $set: { $initial_current_url: masked },
    });
  });

  it.each([5, null, ['token=1']])('does not change %j', (value) => {
    expect(transformed(urlMasking, {}, { $current_url: value })).toEqual({ $current_url: value });
  });

  it.each([{}, [], { page: '' }, { page: 5 }, { page: '(' }])('refuses %j', (urlProperties) => {
    expect(() => urlMasking.create({ urlProperties }, testHost())).toThrow('setting "urlProperties"');
  });
});
