import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import { referrerSource } from './referrer-sources.ts';
import { referrer } from './referrer.ts';
import { transform, transformed } from './transformation.fixture.ts';

const onEvent = (properties: JsonObject): JsonObject => transformed(referrer, { person: 'No' }, properties);

describe('Referrer', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = referrer.example;
    expect(transform(referrer, settings, before)).toEqual(after);
  });

  it.each([
    ['www.google.com', 'search', 'google'],
    ['google.co.uk', 'search', 'google'],
    ['GOOGLE.COM.BR:443', 'search', 'google'],
    ['mail.google.com', 'email', 'gmail'],
    ['docs.google.com', 'unknown', 'google'],
    ['gemini.google.com', 'ai', 'gemini'],
    ['de.search.yahoo.com', 'search', 'yahoo!'],
    ['yandex.ru', 'search', 'yandex'],
    ['duckduckgo.com', 'search', 'duckduckgo'],
    ['l.facebook.com', 'social', 'facebook'],
    ['t.co', 'social', 'twitter'],
    ['out.reddit.com', 'social', 'reddit'],
    ['news.ycombinator.com', 'social', 'hacker news'],
    ['outlook.live.com', 'email', 'outlook.com'],
    ['chatgpt.com', 'ai', 'chatgpt'],
  ])('%s is %s, %s', (host, medium, source) => {
    expect(referrerSource(host)).toMatchObject({ medium, source });
  });

  it.each(['example.com', 'notgoogle.com', 'google.example.com', 'constructor', '', '.', 'a.'.repeat(5000)])(
    '%s is unknown',
    (host) => {
      expect(referrerSource(host)).toBeUndefined();
    },
  );

  it('a campaign takes precedence over the referrer; values are decoded and in lower case', () => {
    const properties = {
      $current_url: 'https://a.b/?utm_source=News%20Letter&utm_medium=E+Mail&utm_term=%zz&utm_source=again#utm_x=1',
      $referrer: 'https://www.google.com/?q=x',
    };
    expect(onEvent(properties)).toEqual({
      ...properties,
      source: 'news letter',
      medium: 'e mail',
      term: '%zz',
      referrer_parser: 'utm',
    });
  });

  it('stores campaign and content on the person, and null for parts missing from the first visit', () => {
    const $current_url = 'https://a.b/?utm_campaign=Spring&utm_content=Top';
    const after = transformed(referrer, {}, { $current_url, $set: { plan: 'pro' } });
    expect(after['$set']).toEqual({ plan: 'pro', campaign: 'spring', content: 'top', referrer_parser: 'utm' });
    expect(after['$set_once']).toEqual({
      initial_medium: null,
      initial_source: null,
      initial_campaign: 'spring',
      initial_content: 'top',
      initial_term: null,
      initial_referrer_parser: 'utm',
    });
  });

  it.each<[JsonObject, JsonObject]>([
    [{ $referrer: '$direct' }, { source: 'direct', referrer_parser: 'direct_and_own_domains' }],
    [{ $referrer: 'https://blog.own.com/x' }, { source: 'direct', referrer_parser: 'direct_and_own_domains' }],
    [{ $referrer: 'https://own.com.evil.org/' }, { medium: 'unknown', source: 'unknown', term: '' }],
    [{ $referrer: 'https://evil.org/?own.com' }, { medium: 'unknown', source: 'unknown', term: '' }],
    [{ $referrer: 'https://www.bing.com/search?q=a+b' }, { medium: 'search', source: 'bing', term: 'a b' }],
    [{ $referrer: 'https://www.bing.com/' }, { medium: 'search', source: 'bing', term: '' }],
    [{ $referring_domain: 'm.facebook.com' }, { medium: 'social', source: 'facebook' }],
  ])('%j', (properties, expected) => {
    const after = transformed(referrer, { person: 'No', internal_domains: 'own.com' }, properties);
    expect(after).toEqual({ referrer_parser: 'snowplow', ...properties, ...expected });
  });

  it.each<JsonObject>([
    {},
    { $current_url: 'https://a.b/' },
    { $referrer: '' },
    { $referrer: 5, $referring_domain: null },
  ])('without campaign and referrer nothing is said: %j', (properties) => {
    expect(transformed(referrer, {}, properties)).toEqual(properties);
  });
});
