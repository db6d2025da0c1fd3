import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import { semverFlattener } from './semver-flattener.ts';
import { parsed, transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

describe('semver flattener', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = semverFlattener.example;
    expect(transform(semverFlattener, settings, before)).toEqual(after);
  });

  it.each([
    ['1.2.3', { major: 1, minor: 2, patch: 3 }],
    ['v1.2.3', { major: 1, minor: 2, patch: 3 }],
    ['1.2', { major: 1, minor: 2 }],
    ['7', { major: 7 }],
    ['1.2.3.4', { major: 1, minor: 2, patch: 3 }],
    ['1.0.0-alpha+001', { major: 1, minor: 0, patch: 0, preRelease: 'alpha', build: '001' }],
    ['1.0.0-rc-1.2', { major: 1, minor: 0, patch: 0, preRelease: 'rc-1.2' }],
    ['1.0.0+21AF26D3-117B', { major: 1, minor: 0, patch: 0, build: '21AF26D3-117B' }],
    ['1.0.0-', { major: 1, minor: 0, patch: 0 }],
  ])('%s', (version, parts) => {
    const expected = Object.fromEntries(Object.entries(parts).map(([name, part]) => [`v__${name}`, part]));
    expect(transformed(semverFlattener, { properties: 'v' }, { v: version })).toEqual({ v: version, ...expected });
  });

  it.each<JsonValue>(['', 'latest', '1.x', '-1.2', '1..2', 'vv1', 12.5, null, ['1.2.3'], {}])('leaves %j', (v) => {
    expect(transformed(semverFlattener, { properties: 'v' }, { v })).toEqual({ v });
  });

  it('accepts several, also nested ones; the parts are next to the version', () => {
    const after = transformed(semverFlattener, { properties: 'a, b.c, none' }, { a: '1.0', b: { c: '2.0' } });
    expect(after).toEqual({
      a: '1.0',
      a__major: 1,
      a__minor: 0,
      b: { c: '2.0', c__major: 2, c__minor: 0 },
    });
  });

  it('names of object members are plain names', () => {
    const settings = { properties: '__proto__, constructor' };
    const after = transformed(semverFlattener, settings, parsed('{"__proto__": "1.2"}'));
    expect(JSON.stringify(after)).toBe('{"__proto__":"1.2","__proto____major":1,"__proto____minor":2}');
  });

  it('refuses an empty list', () => {
    expect(() => semverFlattener.create({ properties: ',' }, testHost())).toThrow('at least one property');
  });
});
