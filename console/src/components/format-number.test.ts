import { expect, it } from 'vitest';
import { formatBytes, formatDuration, formatNumber, formatRate } from './format-number.ts';

it.each([
  [0, '0'],
  [7.256, '7.26'],
  [999, '999'],
  [1000, '1 k'],
  [1234, '1.23 k'],
  [12_345, '12.3 k'],
  [123_456, '123 k'],
  [999_600, '1 M'],
  [1_234_567, '1.23 M'],
  [-1500, '-1.5 k'],
])('the number %d is shown as %s', (value, text) => {
  expect(formatNumber(value)).toBe(text);
});

it.each([
  [0, '0 B'],
  [1536, '1.5 KiB'],
  [5 * 1024 ** 3, '5 GiB'],
])('%d bytes are shown as %s', (value, text) => {
  expect(formatBytes(value)).toBe(text);
});

it.each([
  [12, '12 ms'],
  [1500, '1.5 s'],
  [59_900, '1 min'],
  [93_000, '1 min 33 s'],
  [3_600_000, '1 h'],
  [3_660_000, '1 h 1 min'],
  [90_000_000, '1 d 1 h'],
])('%d ms are shown as %s', (value, text) => {
  expect(formatDuration(value)).toBe(text);
});

it('a rate is shown per second', () => {
  expect(formatRate(1200)).toBe('1.2 k/s');
});
