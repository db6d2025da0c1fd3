import { describe, expect, it } from 'vitest';
import { transform, transformed } from './transformation.fixture.ts';
import { urlNormalizer } from './url-normalizer.ts';

describe('URL normalizer', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = urlNormalizer.example;
    expect(transform(urlNormalizer, settings, before)).toEqual(after);
  });

  it.each([
    ['https://Example.com/A/B/', 'https://example.com/a/b'],
    ['https://example.com', 'https://example.com/'],
    ['https://example.com//', 'https://example.com/'],
    ['https://example.com/a/?B=C#D', 'https://example.com/a?b=c#d'],
    ['http://example.com:80/a', 'http://example.com/a'],
    ['/a/B/', '/a/B/'],
    ['not an address', 'not an address'],
    ['', ''],
  ])('%s → %s', (url, expected) => {
    expect(transformed(urlNormalizer, {}, { $current_url: url })).toEqual({ $current_url: expected });
  });

  it.each([5, null, ['https://A.b/'], {}])('does not change %j', (value) => {
    expect(transformed(urlNormalizer, {}, { $current_url: value })).toEqual({ $current_url: value });
  });

  it('accepts other properties, and removes parameters and hash on request', () => {
    const settings = { properties: 'page, $set.url', lower_case: 'No', remove_query: 'Yes', remove_hash: 'Yes' };
    const before = { page: 'https://a.b/C/?d#e', $set: { url: 'https://a.b/C/#e' }, $current_url: 'https://A.b/' };
    expect(transformed(urlNormalizer, settings, before)).toEqual({
      page: 'https://a.b/C',
      $set: { url: 'https://a.b/C' },
      $current_url: 'https://A.b/',
    });
  });
});
