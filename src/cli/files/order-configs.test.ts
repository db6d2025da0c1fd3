import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { movedOf, wantedOrder } from './plan.ts';

describe('the order of what a file lists', () => {
  it.each([
    ['nothing moves', 'abc', 'abc', 'abc'],
    ['what is new stands where it is listed', 'axb', 'ab', 'axb'],
    ['what is not listed stays behind what it stood behind', 'ba', 'axb', 'bax'],
    ['what is not listed and first stays first', 'ba', 'xab', 'xba'],
    ['several that are not listed stay together', 'ba', 'axyb', 'baxy'],
    ['nothing is listed', '', 'xy', 'xy'],
  ])('%s', (_name, listed, present, expected) => {
    expect(wantedOrder([...listed], [...present]).join('')).toBe(expected);
  });

  it('is stable: once it is applied, nothing moves again', () => {
    const some = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 20 });
    fc.assert(
      fc.property(some, some, (listed, present) => {
        const order = wantedOrder(listed, present);
        expect([...order].sort((a, b) => a - b)).toEqual([...new Set([...listed, ...present])].sort((a, b) => a - b));
        expect(order.filter((each) => listed.includes(each))).toEqual(listed);
        expect(wantedOrder(listed, order)).toEqual(order);
        expect(movedOf(order, order)).toEqual([]);
      }),
    );
  });

  it.each([
    ['abcd', 'dabc', 'd'],
    ['abcd', 'bcda', 'a'],
    ['abcd', 'acbd', 'c'],
    ['ab', 'ab', ''],
  ])('from %s to %s moves %s', (before, after, moved) => {
    expect(movedOf([...before], [...after])).toHaveLength(moved.length);
    expect(movedOf([...before], [...after]).join('')).toMatch(moved.length === 1 ? /^\w$/ : /^$/);
    const rest = [...after].filter((each) => !movedOf([...before], [...after]).includes(each));
    expect(rest).toEqual([...before].filter((each) => rest.includes(each)));
  });
});
