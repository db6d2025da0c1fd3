import { describe, expect, it } from 'vitest';
import { lockIntegrity, lockPlatforms, withoutIntegrity, type LockFile } from '../tools/lock-platforms.ts';
import { read } from './source-tree.ts';

const lock = JSON.parse(read('package-lock.json')) as LockFile;
const libraries = Object.entries(lock.packages).filter(([path]) => path.startsWith('node_modules/@chdb/lib-'));

describe('the lock file installs everywhere', () => {
  it('names the embedded event store for every platform; tools/lock-platforms.ts adds missing ones', () => {
    expect(libraries.map(([path]) => path.replace('node_modules/@chdb/lib-', '')).toSorted()).toEqual([
      'darwin-arm64',
      'darwin-x64',
      'linux-arm64-gnu',
      'linux-x64-gnu',
    ]);
    expect(lockPlatforms(lock)).toBe(lock);
  });

  it.each(libraries)('%s is optional and bound to its platform', (path, locked) => {
    expect(locked).toMatchObject({ optional: true, version: expect.any(String) as string });
    expect(path).toContain(`${locked.os?.[0]}-${locked.cpu?.[0]}`);
  });

  it('missing entries are added in the order of npm, and nothing else changes', () => {
    const { 'node_modules/@chdb/lib-linux-x64-gnu': here, ...others } = lock.packages;
    const onlyHere = Object.fromEntries(
      Object.entries({ ...others, 'node_modules/@chdb/lib-linux-x64-gnu': here }).filter(
        ([path]) => !/@chdb\/lib-(darwin|linux-arm64)/.test(path),
      ),
    ) as LockFile['packages'];
    const complete = lockPlatforms({ packages: onlyHere });
    expect(complete.packages['node_modules/@chdb/lib-linux-arm64-gnu']).toEqual({
      version: here?.version,
      cpu: ['arm64'],
      libc: ['glibc'],
      os: ['linux'],
      optional: true,
    });
    expect(Object.keys(complete.packages)).toEqual(
      Object.keys(complete.packages).toSorted((a, b) => a.localeCompare(b, 'en')),
    );
  });

  it('every package is bound to its hash; only binaries of other platforms may lack one', () => {
    const unbound = withoutIntegrity(lock).filter(
      ([path, { optional }]) =>
        optional !== true ||
        !/\/(@chdb\/lib|@duckdb\/node-bindings|@tailwindcss\/oxide|@rollup\/rollup|@(oxlint|oxfmt)\/binding)-(?!linux-x64(-gnu)?$)/.test(
          path,
        ),
    );
    expect(unbound).toEqual([]);
  });

  it('a hash that the registry knows is added, and nothing else changes', async () => {
    const a = { version: '1.0.0', os: ['linux'], optional: true };
    const known = { version: '2.0.0', integrity: 'sha512-there' };
    const packages = {
      '': {},
      'node_modules/@x/a': a,
      'node_modules/b/node_modules/c': { version: '3.0.0' },
      d: known,
    };
    const asked: string[] = [];
    const complete = await lockIntegrity({ packages }, async (name, version) => {
      asked.push(`${name}@${version}`);
      return name === '@x/a' ? 'sha512-new' : undefined;
    });
    expect(asked).toEqual(['@x/a@1.0.0', 'c@3.0.0']);
    expect(complete.packages).toEqual({ ...packages, 'node_modules/@x/a': { ...a, integrity: 'sha512-new' } });
    expect(Object.keys(complete.packages['node_modules/@x/a'] ?? {})).toEqual([
      'version',
      'integrity',
      'os',
      'optional',
    ]);
  });
});
