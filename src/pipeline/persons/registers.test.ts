import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import { formatRegisters } from './registers-text.ts';
import { applyChanges, mergeRegisters, propertiesOf, type PropertyChanges, type Registers } from './registers.ts';

interface Step extends Partial<PropertyChanges> {
  readonly t: number;
}

function after(steps: readonly Step[]): Registers {
  const registers: Registers = new Map();
  for (const { t, set = null, setOnce = null, unset = [] } of steps)
    applyChanges(registers, { set, setOnce, unset }, t);
  return registers;
}

const shown = (steps: readonly Step[]): JsonObject => propertiesOf(after(steps));

const rulings: readonly [name: string, steps: readonly Step[], expected: JsonObject][] = [
  [
    'the later $set wins',
    [
      { t: 1, set: { a: 1 } },
      { t: 2, set: { a: 2 } },
    ],
    { a: 2 },
  ],
  [
    'the later $set wins even if it arrives first',
    [
      { t: 2, set: { a: 2 } },
      { t: 1, set: { a: 1 } },
    ],
    { a: 2 },
  ],
  [
    'at equal times the later arrival wins',
    [
      { t: 1, set: { a: 1 } },
      { t: 1, set: { a: 2 } },
    ],
    { a: 2 },
  ],
  [
    'the earliest $set_once wins',
    [
      { t: 2, setOnce: { a: 2 } },
      { t: 1, setOnce: { a: 1 } },
    ],
    { a: 1 },
  ],
  [
    'a later $set_once changes nothing',
    [
      { t: 1, setOnce: { a: 1 } },
      { t: 2, setOnce: { a: 2 } },
    ],
    { a: 1 },
  ],
  [
    '$set overrides $set_once',
    [
      { t: 1, set: { a: 1 } },
      { t: 2, setOnce: { a: 2 } },
    ],
    { a: 1 },
  ],
  [
    '$set overrides an earlier $set_once',
    [
      { t: 2, setOnce: { a: 2 } },
      { t: 3, set: { a: 1 } },
    ],
    { a: 1 },
  ],
  [
    '$unset removes what was set before',
    [
      { t: 1, set: { a: 1, b: 1 } },
      { t: 2, unset: ['a'] },
    ],
    { b: 1 },
  ],
  [
    '$unset does not remove what was set after it',
    [
      { t: 2, unset: ['a'] },
      { t: 3, set: { a: 3 } },
    ],
    { a: 3 },
  ],
  [
    'an older $set does not undo $unset',
    [
      { t: 2, unset: ['a'] },
      { t: 1, set: { a: 1 } },
    ],
    {},
  ],
  [
    '$unset removes an older $set_once',
    [
      { t: 1, setOnce: { a: 1 } },
      { t: 2, unset: ['a'] },
    ],
    {},
  ],
  [
    'a $set_once after $unset is visible',
    [
      { t: 1, unset: ['a'] },
      { t: 2, setOnce: { a: 2 } },
    ],
    { a: 2 },
  ],
  [
    'an empty $set_once is replaced',
    [
      { t: 1, setOnce: { a: null } },
      { t: 2, setOnce: { a: 2 } },
    ],
    { a: 2 },
  ],
  [
    'in one event $set_once, then $set, then $unset',
    [{ t: 1, set: { a: 1 }, setOnce: { a: 2, b: 2 }, unset: ['b'] }],
    { a: 1 },
  ],
  [
    'names of built-ins are ordinary names',
    [{ t: 1, set: JSON.parse('{"__proto__":1,"constructor":2}') as JsonObject }],
    JSON.parse('{"__proto__":1,"constructor":2}') as JsonObject,
  ],
];

const value = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant(null), fc.constant([1]));
const key = fc.constantFrom('a', 'b', '__proto__', 'constructor');
const object = fc.array(fc.tuple(key, value), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs) as JsonObject);
const change = fc.record({
  set: fc.option(object),
  setOnce: fc.option(object),
  unset: fc.array(key, { maxLength: 2 }),
});

describe('person properties by event time', () => {
  it.each(rulings)('%s', (_name, steps, expected) => {
    const got = shown(steps);
    expect(JSON.stringify(got)).toBe(JSON.stringify(expected));
    expect(Object.getPrototypeOf(got)).toBe(Object.prototype);
  });

  it('the same events give the same person in any order of arrival', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 7 }), fc.infiniteStream(fc.nat()), (changes, order) => {
        const steps = changes.map((each, t) => ({ t, ...each }));
        const shuffled = steps
          .map((step) => ({ step, at: order.next().value as number }))
          .sort((a, b) => a.at - b.at)
          .map(({ step }) => step);
        expect(shown(shuffled)).toEqual(shown(steps));
      }),
      { numRuns: 2000 },
    );
  });

  it('repeated events change nothing', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 5 }), (changes) => {
        const steps = changes.map((each, t) => ({ t, ...each }));
        const registers = after(steps);
        const before = formatRegisters(registers, 'single');
        for (const { t, set, setOnce, unset } of steps) applyChanges(registers, { set, setOnce, unset }, t);
        expect(formatRegisters(registers, 'single')).toBe(before);
      }),
    );
  });
});

describe('merging registers', () => {
  it('keeps the later $set, the earlier $set_once, and their times', () => {
    const target = after([
      { t: 5, set: { both: 'target', removed: 1 }, setOnce: { first: 'target' } },
      { t: 6, unset: ['removed', 'gone'] },
    ]);
    const other = after([
      { t: 3, set: { gone: 'other' }, setOnce: { first: 'other' } },
      { t: 9, set: { both: 'other', only: 'other', removed: 'other' } },
    ]);
    mergeRegisters(target, other);
    expect(propertiesOf(target)).toEqual({ both: 'other', first: 'other', only: 'other', removed: 'other' });
    applyChanges(target, { set: { only: 'older' }, setOnce: null, unset: [] }, 8);
    expect(propertiesOf(target)['only']).toBe('other');
  });

  it('gives the registers of a single person, whenever the merge happens and whichever person the events concern', () => {
    const anyChanges = fc.array(fc.tuple(change, fc.boolean()), { maxLength: 8 });
    fc.assert(
      fc.property(
        anyChanges,
        fc.infiniteStream(fc.nat()),
        fc.nat(8),
        fc.boolean(),
        (changes, order, mergedAt, isSwapped) => {
          const steps = changes.map(([each, isOther], t) => ({
            step: { t, ...each },
            isOther,
            at: order.next().value as number,
          }));
          const arrived = steps.toSorted((a, b) => a.at - b.at);
          const [target, other]: [Registers, Registers] = [new Map(), new Map()];
          for (const [index, { step, isOther }] of arrived.entries()) {
            if (index === mergedAt) join();
            applyChanges(isOther && index < mergedAt ? other : target, step, step.t);
          }
          if (mergedAt >= arrived.length) join();
          expect(propertiesOf(target)).toEqual(shown(steps.map(({ step }) => step)));

          function join(): void {
            if (!isSwapped) return mergeRegisters(target, other);
            mergeRegisters(other, target);
            target.clear();
            for (const [key, register] of other) target.set(key, register);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});
