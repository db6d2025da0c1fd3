import { describe, expect, it } from 'vitest';
import { createTimeGuess } from './unusual-times.ts';

describe('a time that is not written as ISO 8601', () => {
  it.each([
    ['Mon, 04 Mar 2024 05:06:07 GMT', '2024-03-04T05:06:07.000Z'],
    ['Mon, 4 Mar 2024 05:06:07 +0100', '2024-03-04T04:06:07.000Z'],
    ['Mon Mar 04 2024 05:06:07 GMT+0100 (Central European Standard Time)', '2024-03-04T04:06:07.000Z'],
    ['March 4, 2024 5:06 PM', '2024-03-04T17:06:00.000'],
    ['March 4th, 2024, 12:06:07 am', '2024-03-04T00:06:07.000'],
    ['04-Mar-2024 05:06', '2024-03-04T05:06:00.000'],
    ['2024/03/04 05:06:07', '2024-03-04T05:06:07.000'],
    ['2024/3/4T5:06:07Z', '2024-03-04T05:06:07.000Z'],
    ['2024.3.4', '2024-03-04T00:00:00.000'],
    ['2024-3-4 5:06:07.25 UTC', '2024-03-04T05:06:07.250Z'],
    ['2024-3-4 5:06:07+05:30', '2024-03-03T23:36:07.000Z'],
  ])('%s has one meaning', (text, iso) => {
    expect(createTimeGuess()(text)).toBe(iso);
  });

  it.each(['03/04/2024 05:06', '4.3.24', '3-4-2024', 'yesterday', 'Feb 30, 2024', 'Mar 2024', '', 'x'.repeat(500)])(
    '%s is ambiguous or not a time: it is not guessed',
    (text) => {
      expect(createTimeGuess()(text)).toBeUndefined();
    },
  );

  it('each is parsed independently of how the one before was written', () => {
    const guess = createTimeGuess();
    const texts = ['2024/03/04', 'March 4, 2024', '2024.3.4', '2024/03/04', '03/04/2024'];
    expect(texts.map((text) => guess(text)?.slice(0, 10))).toEqual([...Array(4).fill('2024-03-04'), undefined]);
  });
});
