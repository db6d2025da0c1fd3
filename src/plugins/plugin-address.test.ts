import { describe, expect, it } from 'vitest';
import { identityOf, parseAddress, shownAddress } from './plugin-address.ts';

const repository = 'https://github.com/PostHog/geoip';

describe('an address of a git host', () => {
  it.each([
    [repository, 'archive/HEAD.zip', undefined, undefined],
    [`${repository}/`, 'archive/HEAD.zip', undefined, undefined],
    [`${repository}.git`, 'archive/HEAD.zip', undefined, undefined],
    ['http://www.github.com/PostHog/geoip', 'archive/HEAD.zip', undefined, undefined],
    [`${repository}/tree/main`, 'archive/main.zip', undefined, undefined],
    [`${repository}/tree/main/packages/x`, 'archive/main.zip', 'packages/x', undefined],
    [`${repository}/commit/a5e9370`, 'archive/a5e9370.zip', undefined, undefined],
    [`${repository}/releases/tag/v1.2`, 'archive/refs/tags/v1.2.zip', undefined, 'v1.2'],
    [`${repository}/releases/tag/@a%2Fb@1.0`, 'archive/refs/tags/%40a/b%401.0.zip', undefined, '@a/b@1.0'],
    [`${repository}/archive/main.tar.gz`, 'archive/main.tar.gz', undefined, undefined],
    [`${repository}/archive/refs/tags/v3.zip`, 'archive/refs/tags/v3.zip', undefined, 'v3'],
    [`${repository}/releases/download/v3/plugin.zip`, 'releases/download/v3/plugin.zip', undefined, undefined],
  ])('%s leads to %s', (address, url, folder, tag) => {
    const parsed = parseAddress(address);
    expect(parsed).toMatchObject({
      kind: 'git',
      archives: [{ url: `${repository}/${url}`, folder, tag }, ...(folder ? [{}] : [])],
    });
    expect(identityOf(parsed)).toBe(
      folder === undefined ? 'github.com/PostHog/geoip' : `github.com/PostHog/geoip/${folder}`,
    );
  });

  it('a branch may contain slashes: the whole is tried after the folder', () => {
    expect(parseAddress(`${repository}/tree/fix/crash`)).toMatchObject({
      archives: [
        { url: `${repository}/archive/fix.zip`, folder: 'crash' },
        { url: `${repository}/archive/fix/crash.zip`, folder: undefined },
      ],
    });
  });

  it.each([
    ['https://gitlab.com/a/b/c', 'https://gitlab.com/a/b/c/-/archive/HEAD/c-HEAD.zip'],
    ['https://gitlab.com/a/c/-/tree/main', 'https://gitlab.com/a/c/-/archive/main/c-main.zip'],
    ['https://gitlab.com/a/c/-/commit/abc', 'https://gitlab.com/a/c/-/archive/abc/c-abc.zip'],
    ['https://gitlab.com/a/c/-/tags/v1', 'https://gitlab.com/a/c/-/archive/v1/c-v1.zip'],
    ['https://gitlab.com/a/c/-/archive/v1/c-v1.tar.gz', 'https://gitlab.com/a/c/-/archive/v1/c-v1.tar.gz'],
  ])('%s leads to %s', (address, url) => {
    const parsed = parseAddress(address);
    expect(parsed).toMatchObject({ kind: 'git', archives: [{ url }] });
    expect(identityOf(parsed)).toMatch(/^gitlab\.com\/a\/(b\/)?c$/);
  });
});

describe('other addresses', () => {
  it.each([
    ['https://www.npmjs.com/package/x', 'x', undefined],
    ['https://www.npmjs.com/package/x/v/1.0.0', 'x', '1.0.0'],
    ['https://npmjs.com/package/@posthog/geoip-plugin', '@posthog/geoip-plugin', undefined],
    ['https://www.npmjs.com/package/@posthog/geoip-plugin/v/0.0.7', '@posthog/geoip-plugin', '0.0.7'],
  ])('%s is the package %s', (address, name, version) => {
    expect(parseAddress(address)).toEqual({ kind: 'npm', name, version });
  });

  it('anything else is an archive; its query is not shown and not part of its identity', () => {
    const address = 'https://files.example/p/plugin.zip?signature=hunter2#x';
    expect(parseAddress(address)).toEqual({ kind: 'archive', url: address });
    expect(shownAddress(address)).toBe('https://files.example/p/plugin.zip');
    expect(identityOf(parseAddress(address))).toBe('https://files.example/p/plugin.zip');
  });

  it.each([
    ['plugin.zip', 'expected an http(s) address'],
    ['file:///etc/passwd', 'expected http or https'],
    ['https://me:hunter2@files.example/x.zip', 'without user name and password'],
    ['https://github.com/PostHog', 'expected a repository'],
    [`${repository}/blob/main/index.ts`, 'cannot install from "/blob/main/index.ts"'],
    [`${repository}/tree`, 'cannot install from "/tree"'],
    [`${repository}/tree/%E0%A4%A`, 'not a valid part of an address'],
    ['https://gitlab.com/group', 'expected a repository'],
    ['https://www.npmjs.com/~posthog', 'expected the page of a package'],
    ['https://www.npmjs.com/package/@posthog', 'expected the page of a package'],
  ])('%s is refused', (address, message) => {
    expect(() => parseAddress(address)).toThrow(message);
    expect(() => parseAddress(address)).not.toThrow('hunter2');
  });
});
