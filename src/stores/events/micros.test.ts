import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoOfMicros, parseMicros } from './micros.ts';

describe('parseMicros', () => {
  const read: readonly [string, string][] = [
    ['2026-11-20', '2026-11-20T00:00:00.000000Z'],
    ['2026-11-20T10:00', '2026-11-20T10:00:00.000000Z'],
    ['2026-11-20 10:00:01', '2026-11-20T10:00:01.000000Z'],
    ['2026-11-20T10:00:01.5Z', '2026-11-20T10:00:01.500000Z'],
    ['2026-11-20T10:00:01.123456789z', '2026-11-20T10:00:01.123456Z'],
    ['2026-11-20T10:00:01,25+02:30', '2026-11-20T07:30:01.250000Z'],
    ['2026-01-01T00:00:00-0800', '2026-01-01T08:00:00.000000Z'],
    ['1969-12-31T23:59:59.999999Z', '1969-12-31T23:59:59.999999Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000000Z'],
  ];
  it.each(read)('reads %s', (text, expected) => {
    const micros = parseMicros(text);
    expect(micros === undefined ? undefined : isoOfMicros(micros)).toBe(expected);
  });

  it.each([
    '',
    'now',
    '2026',
    '2026-13-01',
    '2026-02-29',
    '2026-11-20T24:00',
    '2026-11-20T10',
    '1700000000',
    '20261120',
  ])('refuses %j', (text) => expect(parseMicros(text)).toBeUndefined());

  it('is the inverse of isoOfMicros for every microsecond of the years 1 to 9999', () => {
    const range = { min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n };
    fc.assert(fc.property(fc.bigInt(range), (micros) => parseMicros(isoOfMicros(micros)) === micros));
    expect(isoOfMicros(-1n)).toBe('1969-12-31T23:59:59.999999Z');
  });
});
