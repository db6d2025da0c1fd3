import { describe, expect, it } from 'vitest';
import { mainFile, newerSource, withFile } from './plugin-code.ts';

describe('the code of a plugin', () => {
  it.each([
    [['frontend.tsx', 'index.ts', 'plugin.json'], 'index.ts'],
    [['package.json', 'lib/main.js'], 'lib/main.js'],
    [['plugin.json'], 'plugin.json'],
    [[], ''],
  ])('of %j opens %s first', (paths, main) => {
    expect(mainFile(paths)).toBe(main);
  });

  it('counts as unchanged after an edit is reverted', () => {
    const stored = { 'index.ts': 'a', 'plugin.json': '{}' };
    const changed = withFile(stored, stored, 'index.ts', 'b');
    expect(changed).toEqual({ 'index.ts': 'b', 'plugin.json': '{}' });
    expect(withFile(stored, changed ?? stored, 'index.ts', 'a')).toBeUndefined();
  });

  it.each([
    ['npm', 'npm:@scope/name@1.2.3', { npm: '@scope/name' }],
    ['npm', 'npm:name@1.2.3', { npm: 'name' }],
    ['git', 'https://github.com/a/b', { url: 'https://github.com/a/b' }],
    ['source', null, undefined],
    ['archive', null, undefined],
  ])('%s %s is updated from %j', (source_kind, source_url, from) => {
    expect(newerSource({ source_kind, source_url })).toEqual(from);
  });
});
