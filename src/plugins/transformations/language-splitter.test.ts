import { describe, expect, it } from 'vitest';
import { languageSplitter } from './language-splitter.ts';
import { testHost } from '../../../test/support/transformation-host.ts';
import { transform, transformed } from './transformation.fixture.ts';

describe('Language splitter', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = languageSplitter.example;
    expect(transform(languageSplitter, settings, before)).toEqual(after);
  });

  it.each([
    ['/de/preise', { locale: 'de', $pathname: '/preise' }],
    ['/en', { locale: 'en', $pathname: '/' }],
    ['/fr?x=1', { locale: 'fr', $pathname: '/?x=1' }],
    ['/deutsch', { $pathname: '/deutsch' }],
    ['/DE/preise', { $pathname: '/DE/preise' }],
    ['', { $pathname: '' }],
  ])('%s', (path, expected) => {
    expect(transformed(languageSplitter, {}, { $pathname: path })).toEqual(expected);
  });

  it('accepts other patterns, named groups and target properties', () => {
    const settings = {
      pattern: '/(?<region>[a-z]+)-(?<lang>[a-z]{2})/',
      matchGroup: 'lang',
      property: 'language',
      replacePattern: '[a-z]+-([a-z]{2})',
      replaceKey: 'path',
      replaceValue: '$1',
    };
    expect(transformed(languageSplitter, settings, { $pathname: '/ch-de/x' })).toEqual({
      $pathname: '/ch-de/x',
      language: 'de',
      path: '/de/x',
    });
  });

  it('keeps the path on request; a group without a match writes nothing', () => {
    const settings = { pattern: '^/(en)?', cleanPath: 'No' };
    expect(transformed(languageSplitter, settings, { $pathname: '/x' })).toEqual({ $pathname: '/x' });
  });

  it.each([5, null, ['/de']])('does not change %j', (path) => {
    expect(transformed(languageSplitter, {}, { $pathname: path })).toEqual({ $pathname: path });
  });

  it.each([{ pattern: '(' }, { replacePattern: '[' }, { matchGroup: '$1' }])('refuses %j', (settings) => {
    expect(() => languageSplitter.create(settings, testHost())).toThrow('setting "');
  });

  it('an endless pattern fails with a reason', () => {
    const settings = { pattern: '^(a+)+\\1$' };
    const event = { properties: { $pathname: `${'a'.repeat(200)}!` } };
    expect(() => transform(languageSplitter, settings, event)).toThrow('"pattern" took more than 50 ms');
  });
});
