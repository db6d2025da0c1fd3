import { describe, expect, it } from 'vitest';
import {
  importedByConsole,
  licenceOf,
  readLock,
  shippedByMillrace,
  shippedPackages,
  type Lock,
} from '../tools/licences.ts';

/** What may be installed with Millrace: licences that ask for no more than to be named. */
const allowed = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]);
/** Whether an SPDX expression of names, AND, OR and brackets leaves a choice that is allowed. */
function isAllowed(expression: string): boolean {
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  if (plain.includes(' OR ')) return plain.split(' OR ').some(isAllowed);
  if (plain.includes(' AND ')) return plain.split(' AND ').every(isAllowed);
  return allowed.has(plain);
}

const lock = readLock();
const shipped = shippedByMillrace(lock);

describe('licences of packages', () => {
  it('every package that is installed with Millrace or built into the console has a listed licence', () => {
    expect(shipped.length).toBeGreaterThan(200);
    const licences = shipped.map((path) => [path, licenceOf(lock, path)] as const);
    expect(licences.filter(([, licence = 'none']) => !isAllowed(licence))).toEqual([]);
  });

  it('binaries of the event store have one licence on every platform', () => {
    const binaries = shipped.filter((path) => path.includes('/@chdb/lib-'));
    expect(binaries.length).toBeGreaterThan(1);
    expect([...new Set(binaries.map((path) => licenceOf(lock, path)))]).toEqual(['Apache-2.0']);
  });

  it.each([
    ['(MPL-2.0 OR Apache-2.0)', true],
    ['(Apache-2.0 AND MIT)', true],
    ['(GPL-3.0 AND MIT)', false],
    ['AGPL-3.0-only', false],
    ['SEE LICENSE IN LICENSE.md', false],
  ])('%s: %s', (expression, expected) => {
    expect(isAllowed(expression)).toBe(expected);
  });

  it('packages of the console are counted, including indirect ones', () => {
    expect(importedByConsole()).toEqual(expect.arrayContaining(['react', '@codemirror/view', 'uplot']));
    // Brought by react-dom.
    expect(shipped).toContain('node_modules/scheduler');
    expect(shipped).not.toContain('node_modules/vitest');
  });

  it('follows the dependencies of a package where npm has placed them', () => {
    const small: Lock = {
      '': { dependencies: { a: '1.0.0' } },
      'node_modules/a': { dependencies: { b: '^1.0.0' }, optionalDependencies: { away: '1.0.0' } },
      'node_modules/a/node_modules/b': { dependencies: { c: '1.0.0' } },
      'node_modules/b': {},
      'node_modules/c': { dependencies: { a: '1.0.0' } },
      'node_modules/d': {},
    };
    expect(shippedPackages(small, ['a'])).toEqual([
      'node_modules/a',
      'node_modules/a/node_modules/b',
      'node_modules/c',
    ]);
  });
});
