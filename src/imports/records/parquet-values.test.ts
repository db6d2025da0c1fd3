import { describe, expect, it } from 'vitest';
import { jsonColumn, parquetParsers } from './parquet-values.ts';

describe('values of Parquet columns', () => {
  const decimal = jsonColumn({
    element: { name: 'a', type: 'INT64', converted_type: 'DECIMAL', scale: 2, precision: 18 },
    children: [],
  });

  it.each([
    [1999n, 19.99],
    [-5n, -0.05],
    [0n, 0],
    [110n, 1.1],
    [123_456_789_012_345_678n, '1234567890123456.78'],
    [-123_456_789_012_345_678n, '-1234567890123456.78'],
    [new Uint8Array([0xff, 0xfe]), -0.02],
  ])('converts the decimal %s to %s', (unscaled, expected) => {
    expect(decimal(unscaled)).toBe(expected);
  });

  it('times keep their microseconds, also before 1970, and dates stay dates', () => {
    expect(parquetParsers.timestampFromMicroseconds?.(1_709_251_200_123_456n)).toBe('2024-03-01T00:00:00.123456Z');
    expect(parquetParsers.timestampFromMicroseconds?.(-1n)).toBe('1969-12-31T23:59:59.999999Z');
    expect(parquetParsers.timestampFromNanoseconds?.(1_000_000_999n)).toBe('1970-01-01T00:00:01.000Z');
    expect(parquetParsers.dateFromDays?.(19_783)).toBe('2024-03-01');
  });

  it('lists, structs and large integers within them become JSON', () => {
    const value = jsonColumn({ element: { name: 'a' }, children: [] })([
      { big: 2n ** 60n, small: 3n },
      new Uint8Array([1]),
    ]);
    expect(JSON.stringify(value)).toBe('[{"big":"1152921504606846976","small":3},"AQ=="]');
  });
});
