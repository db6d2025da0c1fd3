import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from '../../base/exact-json.ts';
import type { JsonObject } from '../../base/json.ts';
import { KeptBytes, PendingChanges, type PropertyOp } from './pending-changes.ts';
import { formatRegisters } from './registers-text.ts';
import { applyChanges, noChanges, unsetNames, type Registers } from './registers.ts';

interface Operation {
  readonly op: PropertyOp;
  readonly text: string;
  readonly t: number;
}

const value = fc.constantFrom('1', '2', 'null', '"a\\"}b"', '1e999', '-0', '{"a":[1,{"b":","}]}', '[]', 'true');
const keys = fc.constantFrom(
  ['a'],
  ['a', 'b'],
  ['b', 'a'],
  ['b', 'c'],
  ['\\u0061', 'b'],
  ['a\\"', 'a'],
  ['a', 'a'],
  ['10', '2', '__proto__'],
  [],
);
const object = fc
  .tuple(keys, fc.array(value, { minLength: 3, maxLength: 3 }), fc.constantFrom('', '', '', ' '))
  .map(([names, values, gap]) => `{${names.map((name, at) => `${gap}"${name}"${gap}:${gap}${values[at]}`).join(',')}}`);
const operation: fc.Arbitrary<Operation> = fc.record({
  op: fc.constantFrom<PropertyOp>('set', 'set', 'setOnce', 'unset'),
  text: object,
  t: fc.nat(5),
});

function apply(registers: Registers, { op, text, t }: Operation): boolean {
  const value = parseExact(text);
  const changes = op === 'unset' ? { unset: unsetNames(value) } : { [op]: value as JsonObject };
  return applyChanges(registers, { ...noChanges, ...changes }, t);
}

/** Overwrites the bytes afterwards, as happens to the memory of a request body. */
function stage(pending: PendingChanges, kept: KeptBytes, { op, text, t }: Operation): void {
  const json = Buffer.from(`..${text}`);
  pending.add(kept, op, t, json, 2, json.length);
  json.fill(0);
}

describe('pending property operations', () => {
  it('give byte for byte the same registers as operations applied immediately', () => {
    const kept = new KeptBytes();
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 3 }), fc.array(operation, { maxLength: 12 }), (before, all) => {
        const one: Registers = new Map();
        const other: Registers = new Map();
        for (const each of before) {
          apply(one, each);
          apply(other, each);
        }
        const pending = new PendingChanges();
        const known = formatRegisters(one, 'single');
        for (const each of all) {
          apply(one, each);
          stage(pending, kept, each);
        }
        const hasChanged = pending.applyTo(other);
        kept.clear();
        expect(formatRegisters(other, 'single')).toBe(formatRegisters(one, 'single'));
        expect(hasChanged || formatRegisters(one, 'single') === known).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  it('on the same keys are kept once, even if the value outgrows the memory of the first', () => {
    const pending = new PendingChanges();
    const kept = new KeptBytes();
    const texts = Array.from({ length: 50 }, (_, at) => `{"a":"${'x'.repeat(at)}","b":[${at},{"c":null}]}`);
    for (const [t, text] of texts.entries()) stage(pending, kept, { op: 'set', text, t });
    expect(pending.isFull).toBe(false);
    const large = `{"a":"${'y'.repeat(3_000_000)}","b":1}`;
    stage(pending, kept, { op: 'set', text: large, t: 60 });
    const registers: Registers = new Map();
    pending.applyTo(registers);
    expect([...registers.keys()]).toEqual(['a', 'b']);
    expect(registers.get('a')).toMatchObject({ v: 'y'.repeat(3_000_000), t: 60 });
  });

  it('are full when there are too many different ones', () => {
    const pending = new PendingChanges();
    const kept = new KeptBytes();
    for (let t = 0; !pending.isFull; t++) {
      expect(t).toBeLessThan(17);
      stage(pending, kept, { op: 'set', text: `{"key ${t}":1}`, t });
    }
  });
});
