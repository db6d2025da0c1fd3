import { expect, it } from 'vitest';
import { expiryOf, lifetimesOf } from './key-lifetimes.ts';

it.each([
  [null, ['never', '7', '30', '90', '365']],
  [1, ['1']],
  [30, ['30', '7']],
  [400, ['400', '7', '30', '90', '365']],
])('with a limit of %s days, a key may live %j', (daysMax, values) => {
  expect(lifetimesOf(daysMax).map(({ value }) => value)).toEqual(values);
});

it('the expiry stays within the limit if the clock of the service is a little behind', () => {
  expect(expiryOf('30', Date.UTC(2026, 0, 1))).toBe('2026-01-30T23:59:00.000Z');
  expect(expiryOf('never', 0)).toBeNull();
});
