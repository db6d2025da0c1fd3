import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import { campaignCleaning } from './campaign-cleaning.ts';
import { transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

function campaign(name: string, settings: Record<string, JsonValue>): unknown {
  const { $set, $set_once, utm_campaign } = transformed(campaignCleaning, settings, { utm_campaign: name });
  expect(utm_campaign).toBe(name);
  expect($set_once).toEqual({ initial_campaign: ($set as { campaign: string }).campaign });
  return ($set as { campaign: string }).campaign;
}

describe('campaign cleaning', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = campaignCleaning.example;
    expect(transform(campaignCleaning, settings, before)).toEqual(after);
  });

  it.each<[string, Record<string, JsonValue>, string]>([
    ['com-a-b_c', {}, 'com-a-b_c'],
    ['com-a-b_c', campaignCleaning.example.settings, 'comp a'],
    ['comp-a-b', campaignCleaning.example.settings, 'comp a'],
    ['single', campaignCleaning.example.settings, 'single'],
    ['a_b_c', { cutAt: '_' }, 'a'],
    ['a-b-c', { separator: '-' }, 'a b c'],
    ['aXbX', { replacements: { X: '$&' } }, 'a$&bX'],
  ])('%s with %j', (name, settings, expected) => {
    expect(campaign(name, settings)).toBe(expected);
  });

  it('keeps values on the person, under another name on request', () => {
    const before = { c: { n: 'x' }, $set: { a: 1 } };
    expect(transformed(campaignCleaning, { property: 'c.n', target: 'ad' }, before)).toEqual({
      c: { n: 'x' },
      $set: { a: 1, ad: 'x' },
      $set_once: { initial_ad: 'x' },
    });
  });

  it.each(['', null, 5, ['x']])('does not change an event whose campaign is %j', (utm_campaign) => {
    expect(transformed(campaignCleaning, {}, { utm_campaign })).toEqual({ utm_campaign });
  });

  it.each([
    [{ replacements: '[]' }, 'expected a JSON object'],
    [{ replacements: { a: 1 } }, 'expected a text for "a"'],
    [{ parts: '0' }, 'whole number from 1 to 100'],
  ])('refuses %j', (settings, message) => {
    expect(() => campaignCleaning.create(settings, testHost())).toThrow(message);
  });
});
