import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isoOfMicros } from '../../../../base/clock.ts';
import type { PlainTimeForm } from '../../../formats/plain-table.ts';
import { epochTime, textTime, utc, zoneOption } from '../../../formats/times.ts';
import { createTimeWriter, microsOf } from './plain-times.ts';

const zones = [utc, zoneOption('zone', 'Europe/Berlin'), zoneOption('zone', '-03:30')];

/** As the readers write it; undefined: it is left to them. */
function written(json: string, zone = utc, more: Partial<PlainTimeForm> = {}): string | undefined {
  const bytes = Buffer.from(json);
  const micros = microsOf(bytes, 0, bytes.length, { path: '', zone, numbers: zone, ...more });
  if (Number.isNaN(micros)) return undefined;
  const target = Buffer.alloc(40);
  return target.toString('latin1', 0, createTimeWriter()(target, 0, micros));
}

it('times are those of the readers, in every zone', () => {
  const second = fc.integer({ min: 946_684_800, max: 4_102_444_799 });
  const numbers = fc.oneof(
    second,
    second.map((each) => each * 1000 + 7),
    second.map((each) => each * 1_000_000 + 7),
    fc.integer({ min: -10, max: 1e14 }),
    fc.integer({ min: 1e14, max: 1e16 }),
  );
  const ofNumbers = fc.property(numbers, fc.constantFrom(...zones), (number, zone) => {
    const own = written(String(number), zone);
    return own === undefined || own === epochTime(number, undefined, zone);
  });
  expect(fc.check(ofNumbers).counterexample).toBeNull();
  const texts = fc
    .tuple(second, fc.constantFrom('', '.5', '.123', '.000001', '.123456', '.1234567'), fc.constantFrom('T', ' '))
    .map(
      ([at, fraction, separator]) =>
        isoOfMicros(at * 1e6)
          .slice(0, 19)
          .replace('T', separator) + fraction,
    );
  const ends = fc.constantFrom('', 'Z', '+00:00', '+02:00', ' ');
  const ofTexts = fc.property(texts, ends, fc.constantFrom(...zones), (text, end, zone) => {
    const own = written(JSON.stringify(text + end), zone);
    return own === undefined || own === textTime(text + end, zone);
  });
  expect(fc.check(ofTexts).counterexample).toBeNull();
});

it('numbers and texts of digits count what they are said to count', () => {
  const units = { s: 1, ms: 1000, us: 1_000_000 } as const;
  const given = fc.tuple(
    fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])),
    fc.double({ min: 946_684_700, max: 4_102_444_900, noNaN: true }),
    fc.constantFrom(...zones),
    fc.boolean(),
  );
  const known = fc.property(given, ([unit, second, zone, isText]) => {
    const value = isText ? String(Math.floor(second * units[unit])) : Math.floor(second * units[unit]);
    const own = written(JSON.stringify(value), zone, { unit });
    return own === epochTime(value, unit, zone) || (own === undefined && (second < 946_800_000 || second > 4.1e9));
  });
  expect(fc.check(known).counterexample).toBeNull();
  const bySize = fc.property(given, ([unit, second]) => {
    const text = String(Math.floor(second * units[unit]));
    const own = written(JSON.stringify(text), utc, { areDigits: true });
    return own === undefined || own === epochTime(text);
  });
  expect(fc.check(bySize).counterexample).toBeNull();
  expect(written('"1609459200"', utc, { areDigits: true })).toBe('2021-01-01T00:00:00.000Z');
});

it.each([
  ['1609459200', '2021-01-01T00:00:00.000Z'],
  ['1609459200123', '2021-01-01T00:00:00.123Z'],
  ['1609459200123456', '2021-01-01T00:00:00.123456Z'],
  ['"2021-01-01 00:00:00.000007"', '2021-01-01T00:00:00.000007Z'],
  ['"2021-01-01T00:00:00Z"', '2021-01-01T00:00:00.000Z'],
  ['"2021-01-01T00:00:00+00:00"', '2021-01-01T00:00:00.000Z'],
  ['"2024-02-29T00:00:00Z"', '2024-02-29T00:00:00.000Z'],
  ['"2021-12-31T00:00:00Z"', '2021-12-31T00:00:00.000Z'],
])('%s is %s', (json, time) => {
  expect(written(json)).toBe(time);
});

it.each(
  `0 -5 1609459200.5 99999999999 "1609459200" "2021-01-01" "2021-02-30T00:00:00Z" "2021-02-29T00:00:00Z" "2100-02-29T00:00:00Z"
  "2021-04-31T00:00:00Z"`.split(/\s+/),
)('%s is left to the reader', (json) => {
  expect(written(json)).toBeUndefined();
});
