import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { epochMicros, parseIsoBytes, parseTimestamp } from './timestamps.ts';

const micros = (iso: string, more = 0): number => Date.parse(iso) * 1000 + more;

describe('valid times', () => {
  it.each<[string, number]>([
    ['2021-10-29', micros('2021-10-29T00:00:00Z')],
    ['2021-10-29T12:34:56Z', micros('2021-10-29T12:34:56Z')],
    ['2021-10-29t12:34:56z', micros('2021-10-29T12:34:56Z')],
    ['2021-10-29T12:34:56.7Z', micros('2021-10-29T12:34:56.700Z')],
    ['2021-10-29T12:34:56.123456Z', micros('2021-10-29T12:34:56.123Z', 456)],
    ['2021-10-29T12:34:56.123456789Z', micros('2021-10-29T12:34:56.123Z', 456)],
    ['2021-10-29T12:34:56,5Z', micros('2021-10-29T12:34:56.500Z')],
    ['2021-10-29T12:34:56+00:00', micros('2021-10-29T12:34:56Z')],
    ['2021-10-29T12:34:56-00:00', micros('2021-10-29T12:34:56Z')],
    ['2021-10-29T12:34:56+03', micros('2021-10-29T09:34:56Z')],
    ['2021-10-29T12:34:56-0530', micros('2021-10-29T18:04:56Z')],
    ['2021-10-29T12:34:56.123456789', micros('2021-10-29T12:34:56.123Z', 456)],
    ['2021-10-29 12:34:56', micros('2021-10-29T12:34:56Z')],
    ['2021-10-29 12:34:56 +02:00', micros('2021-10-29T10:34:56Z')],
    ['2021-10-29 12:34:56 UTC', micros('2021-10-29T12:34:56Z')],
    ['2021-10-29T12:34', micros('2021-10-29T12:34:00Z')],
    ['20211029T123456Z', micros('2021-10-29T12:34:56Z')],
    ['20211029', micros('2021-10-29T00:00:00Z')],
    ['2021-W43-5', micros('2021-10-29T00:00:00Z')],
    ['2021W435', micros('2021-10-29T00:00:00Z')],
    ['2020-W53-7', micros('2021-01-03T00:00:00Z')],
    ['2021-302', micros('2021-10-29T00:00:00Z')],
    ['2020-366T01:00Z', micros('2020-12-31T01:00:00Z')],
    ['2021/10/29', micros('2021-10-29T00:00:00Z')],
    ['2021/1/2 03:04:05', micros('2021-01-02T03:04:05Z')],
    ['10/29/2021', micros('2021-10-29T00:00:00Z')],
    ['Fri, 29 Oct 2021 12:34:56 +0200', micros('2021-10-29T10:34:56Z')],
    ['Fri, 29 Oct 2021 12:34:56 GMT', micros('2021-10-29T12:34:56Z')],
    ['29 Oct 2021 12:34 EST', micros('2021-10-29T17:34:00Z')],
    ['1635510896', micros('2021-10-29T12:34:56Z')],
    ['1635510896.25', micros('2021-10-29T12:34:56.250Z')],
    ['1635510896123', micros('2021-10-29T12:34:56.123Z')],
    ['1635510896123456', micros('2021-10-29T12:34:56.123Z', 456)],
    ['-1000000000', micros('1938-04-24T22:13:20Z')],
    [' 2021-10-29T12:34:56Z ', micros('2021-10-29T12:34:56Z')],
    ['1899-12-31T00:00:00Z', micros('1899-12-31T00:00:00Z')],
    ['0001-01-01T00:00:00Z', micros('0001-01-01T00:00:00Z')],
    ['9999-12-31T23:59:59Z', micros('9999-12-31T23:59:59Z')],
    ['2016-12-31T23:59:60Z', micros('2017-01-01T00:00:00Z')],
    ['2021-10-29T24:00:00Z', micros('2021-10-30T00:00:00Z')],
    ['2000-02-29', micros('2000-02-29T00:00:00Z')],
  ])('%s', (text, expected) => {
    expect(parseTimestamp(text)).toBe(expected);
  });

  it.each([
    ['not a date'],
    [''],
    ['2021'],
    ['2021-10'],
    ['2021-02-30'],
    ['2021-02-29'],
    ['1900-02-29'],
    ['2021-13-01'],
    ['2021-00-10'],
    ['2021-10-00'],
    ['2021-10-29T25:00:00Z'],
    ['2021-10-29T12:60:00Z'],
    ['2021-10-29T12:34:61Z'],
    ['2021-10-29T24:00:01Z'],
    ['2021-10-29T12:34:56+99:00'],
    ['2021-10-29T12:34:56+01:60'],
    ['2021-W54-1'],
    ['2021-W53-1'],
    ['2021-366'],
    ['2021-000'],
    ['29/10/2021'],
    ['Mon, 29 Oct 2021 12:34:56 GMT'],
    ['29 Foo 2021 12:34:56 GMT'],
    ['29 Oct 2021 12:34:56 +9900'],
    ['29 Oct 2021 12:34:56 QQQ'],
    ['12345678.5'],
    ['123456789012345678'],
    ['2021-10-29T12:34:56ZZ'],
    ['2021-10-29x12:34:56Z'],
    ['2021-10-29T12:34:56.Z'],
    ['2021-10-29T12:34:56.1234567890Z'],
    ['NaN'],
    ['Infinity'],
  ])('%j is not a time', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  it.each<[number, number | undefined]>([
    [1_635_510_896, micros('2021-10-29T12:34:56Z')],
    [1_635_510_896.5, micros('2021-10-29T12:34:56.500Z')],
    [1_635_510_896_123, micros('2021-10-29T12:34:56.123Z')],
    [1_635_510_896_123_456, micros('2021-10-29T12:34:56.123Z', 456)],
    [0, 0],
    [-86_400, micros('1969-12-31T00:00:00Z')],
    [1e17, undefined],
    [Infinity, undefined],
    [Number.NaN, undefined],
  ])('the number %d', (value, expected) => {
    expect(epochMicros(value)).toBe(expected);
  });
});

describe('the fast path over bytes', () => {
  const fromBytes = (text: string): number | undefined => {
    const json = Buffer.from(`  "${text}"  `);
    return parseIsoBytes(json, 2, json.length - 2);
  };

  it('agrees with Date for every time from year 0 to 9999', () => {
    const range = { min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(range), (date) => {
        expect(fromBytes(date.toISOString())).toBe(date.getTime() * 1000);
        expect(parseTimestamp(date.toISOString())).toBe(date.getTime() * 1000);
      }),
      { numRuns: 500 },
    );
  });

  it('accepts nothing that the slow path reads differently', () => {
    const base = '2021-10-29T12:34:56.123456Z';
    const change = fc.tuple(fc.nat(base.length), fc.nat(2), fc.constantFrom(...'0123456789-:.TZ+ x'));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 3 }), (changes) => {
        let text = base;
        for (const [at, removed, added] of changes) text = text.slice(0, at) + added + text.slice(at + removed);
        const fast = fromBytes(text);
        expect(fast ?? parseTimestamp(text)).toBe(parseTimestamp(text));
      }),
      { numRuns: 3000 },
    );
  });

  it.each(['2021-10-29T12:34:56Z', '2021-10-29T12:34:56.1Z', '2021-10-29T12:34:56.123456789Z'])(
    'accepts %s',
    (text) => {
      expect(fromBytes(text)).toBe(parseTimestamp(text));
    },
  );

  it.each([
    '2021-02-30T12:34:56Z',
    '2021-10-29T12:34:56',
    '2021-10-29T12:34:56.Z',
    '2021-1\\u0030-29T12:34:56Z',
    '2x21-10-29T12:34:56Z',
    '',
  ])('leaves %j to the slow path', (text) => {
    expect(fromBytes(text)).toBeUndefined();
  });
});
