import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { covers, keepTokensOf, readPartName, uncovered } from './part-names.ts';

describe('part names', () => {
  it.each([
    ['202401_2_9_1', { partition: '202401', firstBlock: 2, lastBlock: 9, level: 1, mutation: 0 }],
    ['all_1_1_0_15', { partition: 'all', firstBlock: 1, lastBlock: 1, level: 0, mutation: 15 }],
  ])('reads %s', (name, part) => expect(readPartName(name)).toEqual(part));

  it.each(['tmp_merge_202401_2_9_1', 'delete_tmp_202401_2_9_1', 'detached', 'broken-on-start_202401_2_9_1', '202401'])(
    '%s is not a part name',
    (name) => expect(readPartName(name)).toBeUndefined(),
  );

  it.each([
    ['a merge covers its sources', '202401_2_9_1', '202401_3_3_0', true],
    ['a mutation covers what it changed', '202401_2_9_1_15', '202401_2_9_1', true],
    ['a part covers itself', '202401_2_9_1', '202401_2_9_1', true],
    ['a part of another month is not covered', '202401_2_9_1', '202402_3_3_0', false],
    ['blocks beyond its own are not covered', '202401_2_9_1', '202401_9_10_1', false],
    ['a part with a later mutation is not covered', '202401_2_9_1', '202401_3_3_0_15', false],
    ['a part with a higher level is not covered', '202401_2_9_1', '202401_2_9_2', false],
  ])('%s', (_, outer, inner, expected) => {
    const [a, b] = [readPartName(outer), readPartName(inner)];
    expect(a !== undefined && b !== undefined && covers(a, b)).toBe(expected);
  });

  it('omits parts that others cover, and names that are not part names', () => {
    expect(uncovered(['1_1_1_0', '1_2_2_0', '1_1_2_1', '1_1_2_1_3', '1_4_4_0', '2_1_1_0', 'tmp_1_5_5_0'])).toEqual([
      '1_1_2_1_3',
      '1_4_4_0',
      '2_1_1_0',
    ]);
  });

  it('omits a part exactly if another one covers it, for any set of parts', () => {
    const small = fc.nat({ max: 3 });
    const part = fc
      .record({ partition: fc.constantFrom('1', '2'), first: small, more: small, level: small, mutation: small })
      .map(({ partition, first, more, level, mutation }) =>
        [partition, first, first + more, level, ...(mutation === 0 ? [] : [mutation])].join('_'),
      );
    const isCovered = (inner: string, outer: string): boolean => {
      const [a, b] = [readPartName(outer), readPartName(inner)];
      return outer !== inner && a !== undefined && b !== undefined && covers(a, b);
    };
    fc.assert(
      fc.property(fc.uniqueArray(part, { maxLength: 12 }), (names) => {
        const expected = names.filter((name) => !names.some((other) => isCovered(name, other)));
        expect(uncovered(names).toSorted()).toEqual(expected.toSorted());
      }),
    );
  });

  it('keeps tokens of existing parts, merged or not, and removes others and a truncated line', () => {
    const log = '1\t1_1_1_0\ta\n1\t1_2_2_0\tb\n1\t1_3_3_0\tc\n2\t1_2_2_0\tb\nrubbish\n1\t1_4_4_0\td';
    expect(keepTokensOf(['1_1_2_1_7', '1_4_4_0'], log)).toBe('1\t1_1_1_0\ta\n1\t1_2_2_0\tb\n2\t1_2_2_0\tb\n');
  });
});
