import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from '../../base/exact-json.ts';
import type { JsonObject } from '../../base/json.ts';
import { KeptBytes, PendingChanges, type PropertyOp } from './pending-changes.ts';
import { formatRegisters } from './registers-text.ts';
import { applyChanges, noChanges, unsetNames, type Registers } from './registers.ts';

interface Said {
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
const said: fc.Arbitrary<Said> = fc.record({
  op: fc.constantFrom<PropertyOp>('set', 'set', 'setOnce', 'unset'),
  text: object,
  t: fc.nat(5),
});

function apply(registers: Registers, { op, text, t }: Said): boolean {
  const value = parseExact(text);
  const changes = op === 'unset' ? { unset: unsetNames(value) } : { [op]: value as JsonObject };
  return applyChanges(registers, { ...noChanges, ...changes }, t);
}

/** The bytes are overwritten once they are told, as a body's memory is. */
function tell(pending: PendingChanges, kept: KeptBytes, { op, text, t }: Said): void {
  const json = Buffer.from(`..${text}`);
  pending.add(kept, op, t, json, 2, json.length);
  json.fill(0);
}

describe('what is said of a person, looked into later', () => {
  it('gives the same registers, to the byte, as if each event had been looked into', () => {
    const kept = new KeptBytes();
    fc.assert(
      fc.property(fc.array(said, { maxLength: 3 }), fc.array(said, { maxLength: 12 }), (before, all) => {
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
          tell(pending, kept, each);
        }
        const hasChanged = pending.applyTo(other);
        kept.clear();
        expect(formatRegisters(other, 'single')).toBe(formatRegisters(one, 'single'));
        expect(hasChanged || formatRegisters(one, 'single') === known).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  it('of several that say the same keys one is kept, also when it grows beyond the memory of the first', () => {
    const pending = new PendingChanges();
    const kept = new KeptBytes();
    const texts = Array.from({ length: 50 }, (_, at) => `{"a":"${'x'.repeat(at)}","b":[${at},{"c":null}]}`);
    for (const [t, text] of texts.entries()) tell(pending, kept, { op: 'set', text, t });
    expect(pending.isFull).toBe(false);
    const large = `{"a":"${'y'.repeat(3_000_000)}","b":1}`;
    tell(pending, kept, { op: 'set', text: large, t: 60 });
    const registers: Registers = new Map();
    pending.applyTo(registers);
    expect([...registers.keys()]).toEqual(['a', 'b']);
    expect(registers.get('a')).toMatchObject({ v: 'y'.repeat(3_000_000), t: 60 });
  });

  it('says when there is more to keep apart than is worth it', () => {
    const pending = new PendingChanges();
    const kept = new KeptBytes();
    for (let t = 0; !pending.isFull; t++) {
      expect(t).toBeLessThan(17);
      tell(pending, kept, { op: 'set', text: `{"key ${t}":1}`, t });
    }
  });
});
