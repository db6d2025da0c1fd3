import { describe, expect, it } from 'vitest';
import { parseExactValues } from '../../base/exact-json.ts';
import { FormatOptionsError } from './format.ts';
import { anyTime, epochTime, textTime, zoneOption } from './times.ts';

describe('times of records', () => {
  it.each<[unknown, string | undefined]>([
    [0, '1970-01-01T00:00:00.000Z'],
    [1_609_459_200, '2021-01-01T00:00:00.000Z'],
    [1_609_459_200.000_001, '2021-01-01T00:00:00.000001Z'],
    [1_609_459_200_123, '2021-01-01T00:00:00.123Z'],
    [1_609_459_200_123.5, '2021-01-01T00:00:00.123500Z'],
    [1_609_459_200_123_456, '2021-01-01T00:00:00.123456Z'],
    ['1609459200', '2021-01-01T00:00:00.000Z'],
    [-1.5, '1969-12-31T23:59:58.500Z'],
    ['', undefined],
    ['1e9', undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
    [1e300, undefined],
    [-3_000_000_000, undefined],
    [null, undefined],
  ])('reads the number %s by its magnitude', (value, expected) => {
    expect(epochTime(value)).toBe(expected);
  });

  it.each([
    [32_503_680_000, 'seconds of the year 3000'],
    [253_402_300_799, 'seconds of the year 9999, which are milliseconds of 1978'],
    ['253402300799', 'the same as a text'],
    [253_402_300_799_000, 'milliseconds of the year 9999, which are microseconds of 1978'],
    ['253402300799000000', 'microseconds of the year 9999, which are nanoseconds of 1978'],
  ])('%s without a unit is not a time: %s', (value, _why) => {
    expect(epochTime(value)).toBeUndefined();
    expect(epochTime(631_152_000_000)).toBe('1990-01-01T00:00:00.000Z');
    expect(epochTime(253_402_300_799, 'ms')).toBe('1978-01-11T21:31:40.799Z');
  });

  it.each([
    ['s', 1_609_459_200],
    ['ms', 1_609_459_200_000],
    ['us', 1_609_459_200_000_000],
    ['ns', 1_609_459_200_000_000_000],
  ] as const)('a number of %s', (unit, value) => {
    expect(epochTime(value, unit)).toBe('2021-01-01T00:00:00.000Z');
  });

  it.each([
    ['ns', '1609459200123456789', '2021-01-01T00:00:00.123457Z'],
    ['ns', '-1609459200123456789', '1918-12-31T23:59:59.876543Z'],
    ['us', '1609459200123456.4999999999999', '2021-01-01T00:00:00.123456Z'],
    ['s', '1609459200.1234565000000000001', '2021-01-01T00:00:00.123457Z'],
    [undefined, '1609459200123456789', '2021-01-01T00:00:00.123457Z'],
    [undefined, '12345678901234567890123', undefined],
    ['ms', '1e400', undefined],
  ] as const)('more digits than a number of JavaScript holds, in %s: %s', (unit, text, expected) => {
    expect(epochTime(text, unit)).toBe(expected);
    expect(epochTime(parseExactValues(text), unit)).toBe(expected);
  });

  it.each<[unknown, string | undefined]>([
    ['2021-03-04T05:06:07Z', '2021-03-04T05:06:07.000Z'],
    ['2021-03-04 05:06:07.089012', '2021-03-04T05:06:07.089012Z'],
    ['2021-03-04T05:06:07.5+02:00', '2021-03-04T03:06:07.500Z'],
    ['2021-03-04 05:06:07.123456789 UTC', '2021-03-04T05:06:07.123456Z'],
    ['2021-03-04T05:06-0800', '2021-03-04T13:06:00.000Z'],
    ['2021-03-04', '2021-03-04T00:00:00.000Z'],
    ['2020-02-29', '2020-02-29T00:00:00.000Z'],
    ['2021-02-29', undefined],
    ['2021-13-01', undefined],
    ['2021-03-04T24:00:00', undefined],
    ['1899-12-31T23:59:59Z', undefined],
    ['2300-01-01', undefined],
    ['04.03.2021', undefined],
    ['', undefined],
    [20_210_304, undefined],
  ])('reads the text %j', (value, expected) => {
    expect(textTime(value)).toBe(expected);
  });

  it.each([
    ['winter', '2021-01-10 12:00:00', '2021-01-10T11:00:00.000Z'],
    ['summer', '2021-07-10 12:00:00', '2021-07-10T10:00:00.000Z'],
    ['the last moment before clocks go forward', '2021-03-28 01:59:59', '2021-03-28T00:59:59.000Z'],
    ['an hour that is skipped', '2021-03-28 02:30:00', '2021-03-28T01:30:00.000Z'],
    ['after it', '2021-03-28 03:00:00', '2021-03-28T01:00:00.000Z'],
    ['an hour that comes twice', '2021-10-31 02:30:00', '2021-10-31T00:30:00.000Z'],
    ['after both', '2021-10-31 03:00:00', '2021-10-31T02:00:00.000Z'],
    ['an explicit zone', '2021-07-10T12:00:00-04:00', '2021-07-10T16:00:00.000Z'],
  ])('reads a time without a zone in Berlin: %s', (_name, text, expected) => {
    expect(textTime(text, zoneOption('zone', 'Europe/Berlin'))).toBe(expected);
  });

  it.each([
    ['UTC', '2021-07-10T12:00:00.000Z'],
    ['+05:30', '2021-07-10T06:30:00.000Z'],
    ['-0300', '2021-07-10T15:00:00.000Z'],
    ['Asia/Kathmandu', '2021-07-10T06:15:00.000Z'],
    ['Australia/Lord_Howe', '2021-07-10T01:30:00.000Z'],
  ])('reads the zone %s', (name, expected) => {
    expect(anyTime('2021-07-10 12:00', zoneOption('zone', name))).toBe(expected);
  });

  it('agrees with Intl on every hour of a year, including clock changes', () => {
    const zone = zoneOption('zone', 'America/New_York');
    const clock = new Intl.DateTimeFormat('sv-SE', {
      timeZone: 'America/New_York',
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    const wrong: string[] = [];
    for (let ms = Date.UTC(2021, 0, 1); ms < Date.UTC(2022, 0, 1); ms += 3_600_000) {
      const local = clock.format(ms);
      const found = Date.parse(textTime(local, zone) ?? '');
      // The second of two equal hours is taken for the first.
      if (found !== ms && clock.format(found) !== local) wrong.push(local);
    }
    expect(wrong).toEqual([]);
  });

  it.each(['0001-01-01', '0012-03-04 05:06:07', '0099-12-31T23:59:59Z', '0021-03-04'])(
    'a year before 1900 is no time, and never one of the twentieth century: %s',
    (text) => {
      expect(textTime(text)).toBeUndefined();
      expect(anyTime(text, zoneOption('zone', 'Europe/Berlin'))).toBeUndefined();
    },
  );

  it.each(['Nowhere/At All', '+25:00', ''])('an invalid zone is rejected: %j', (name) => {
    expect(() => zoneOption('time_zone', name)).toThrow(FormatOptionsError);
  });
});
