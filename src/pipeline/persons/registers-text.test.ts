import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from '../../base/exact-json.ts';
import type { JsonValue } from '../../base/json.ts';
import { formatRegisters, parseRegisters, registersForm } from './registers-text.ts';
import type { Registers } from './registers.ts';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';

const micros = 1_609_459_200_000_000;
const person: Registers = new Map([
  ['plan', { v: 'pro', t: micros, k: 'set', o: { v: 'free', t: micros - 5 } }],
  ['first', { v: null, t: micros - 5, k: 'once' }],
  ['city', { v: 'Bern', t: micros, k: 'set' }],
  ['gone', { v: null, t: micros, k: 'unset' }],
]);

// V8 13.6 may parse the name `"` as `\` after objects of the same form with that name: docs/guarantees.md, "Not guaranteed".
const anyName = fc.string({ maxLength: 3 }).filter((text) => !text.includes('\\'));
const name = fc.oneof(fc.constantFrom('a', '__proto__', 'constructor', '10', '2', ''), anyName);
const text = fc.oneof(
  fc.json({ maxDepth: 1 }),
  fc.constantFrom('12345678901234567890', '1e999', '-0', '1609459200000000', '[0.10]'),
);
// Few different times, so that groups have several members; or many.
const t = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: -micros, max: 4_102_444_800_000_000 }));
const place = fc.record({ text, t });
const register = fc.record({ text, t, k: fc.constantFrom('set', 'once', 'unset'), o: fc.option(place) });

function valueOf(json: string): JsonValue {
  return parseExact(json);
}

const registers = fc
  .uniqueArray(fc.tuple(name, register), { selector: ([key]) => key, maxLength: 30 })
  .map((entries): Registers => {
    const all: Registers = new Map();
    for (const [key, { text: json, t: time, k, o }] of entries) {
      const beside = o === null || k === 'once' ? {} : { o: { v: valueOf(o.text), t: o.t } };
      all.set(key, { v: k === 'unset' ? null : valueOf(json), t: time, k, ...beside });
    }
    return all;
  });

const shown = (all: Registers): string => JSON.stringify([...all].sort(([a], [b]) => (a < b ? -1 : 1)));

describe('registers as text', () => {
  it('group registers of the same time', () => {
    expect(formatRegisters(person, 'grouped')).toBe(
      `[[${micros},"set",{"city":"Bern","plan":"pro"}],[${micros - 5},"once",{"first":null}],[${micros},"unset",{"gone":null}],[${micros - 5},"beside",{"plan":"free"}]]`,
    );
    expect(formatRegisters(new Map(), 'grouped')).toBe('{}');
  });

  it('give the same text for the same registers in any order, also after parsing', () => {
    fc.assert(
      fc.property(registers, (all) => {
        const text = formatRegisters(all, 'grouped');
        expect(formatRegisters(new Map([...all].toReversed()), 'grouped')).toBe(text);
        expect(formatRegisters(parseRegisters(text), 'grouped')).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  it('of earlier versions are parsed', () => {
    const single = `{"plan":{"v":"pro","t":${micros},"k":"set","o":{"v":"free","t":${micros - 5}}}}`;
    expect([...parseRegisters(single)]).toEqual([['plan', person.get('plan')]]);
    expect(parseRegisters('{}').size).toBe(0);
  });

  it.each(['grouped', 'single'] as const)('are parsed back with every digit: %s', (form) => {
    fc.assert(
      fc.property(registers, (all) => {
        expect(shown(parseRegisters(formatRegisters(all, form)))).toBe(shown(all));
      }),
      { numRuns: 1000 },
    );
  });

  it('are grouped only in a store that no earlier version uses concurrently', async () => {
    await using store = await tempMetadata();
    expect(registersForm(store.db)).toBe('grouped');
    const postgres = kyselyOf(await openPglite());
    expect(registersForm(postgres)).toBe('single');
    await postgres.destroy();
  });
});
