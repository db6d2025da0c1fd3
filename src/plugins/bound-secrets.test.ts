import { describe, expect, it } from 'vitest';
import { unboundSecrets } from './bound-secrets.ts';
import { builtInRegistry } from './built-in/registry.ts';
import type { PluginField, SettingValues } from './fields.ts';

const field = (key: string, more: Partial<PluginField> = {}): PluginField => ({
  key,
  name: key,
  type: 'string',
  ...more,
});
const fields = [
  field('base_url', { default: 'https://vendor.example' }),
  field('urls', { type: 'text' }),
  field('page_size'),
  field('key', { secret: true, sent_to: ['base_url', 'urls'] }),
];
const kept = new Set(['key']);
const unbound = (before: SettingValues, after: SettingValues) =>
  unboundSecrets(fields, before, after, kept).map(({ destination }) => destination);

describe('a secret is bound to the address it was given for', () => {
  const site = { base_url: 'https://a.example/v1' };
  const list = { urls: 'https://a.example/1\nhttps://b.example/2' };

  it.each<[string, SettingValues, SettingValues]>([
    ['another path on the same server', site, { base_url: 'https://a.example/v2' }],
    ['the default, written out', {}, { base_url: 'https://vendor.example' }],
    ['a setting that is no address', site, { ...site, page_size: '5' }],
    ['one address fewer', list, { urls: 'https://b.example/3' }],
  ])('is kept with %s', (_what, before, after) => {
    expect(unbound(before, after)).toEqual([]);
  });

  it.each<[string, SettingValues, SettingValues, string]>([
    ['another host', site, { base_url: 'https://b.example/v1' }, 'base_url'],
    ['another port', site, { base_url: 'https://a.example:8443/v1' }, 'base_url'],
    ['another scheme', site, { base_url: 'http://a.example/v1' }, 'base_url'],
    ['a host behind what looks like a user', site, { base_url: 'https://a.example@b.example/v1' }, 'base_url'],
    ['a host behind a backslash', site, { base_url: 'https:\\\\b.example/v1' }, 'base_url'],
    ['a host without slashes', list, { urls: 'https://a.example/1 https:c.example' }, 'urls'],
    ['an address instead of the default', {}, site, 'base_url'],
    ['the default again', site, {}, 'base_url'],
    ['one address more', list, { urls: `${list.urls}\nhttps://c.example/` }, 'urls'],
  ])('is not kept with %s', (_what, before, after, destination) => {
    expect(unbound(before, after)).toEqual([destination]);
  });

  it('secrets of a plugin without declared destinations are bound to all settings named like an address', () => {
    const own = [field('myHost'), field('apiUrl'), field('mode'), field('token', { secret: true })];
    const change = (key: string) => unboundSecrets(own, {}, { [key]: 'x' }, new Set(['token'])).length;
    expect(['myHost', 'apiUrl', 'mode'].map(change)).toEqual([1, 1, 0]);
  });

  it('every secret of a built-in plugin declares the settings it is bound to', () => {
    const secrets = builtInRegistry
      .list()
      .flatMap(({ slug, fields: own }) =>
        own
          .filter(({ secret }) => secret === true)
          .map(({ key, sent_to: to }) => ({ name: `${slug}.${key}`, to, own })),
      );
    const wrong = secrets.filter(({ to, own }) => to?.every((key) => own.some((each) => each.key === key)) !== true);
    expect(wrong.map(({ name }) => name)).toEqual([]);
    expect(secrets.length).toBeGreaterThan(10);
  });
});
