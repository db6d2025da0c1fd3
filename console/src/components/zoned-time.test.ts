import { describe, expect, it } from 'vitest';
import { fromZonedText, toZonedText } from './zoned-time.ts';

describe('the value of a date-time field in a zone', () => {
  it.each([
    ['UTC', '2026-11-20T10:00', '2026-11-20T10:00:00.000Z'],
    ['Europe/Paris', '2026-07-01T00:30', '2026-06-30T22:30:00.000Z'],
    ['Europe/Paris', '2026-12-01T00:30', '2026-11-30T23:30:00.000Z'],
    ['America/St_Johns', '2026-11-20T10:00:07', '2026-11-20T13:30:07.000Z'],
    ['Asia/Kathmandu', '1999-12-31T23:59', '1999-12-31T18:14:00.000Z'],
  ])('%s: %s is %s and converts back', (zone, text, iso) => {
    expect(fromZonedText(text, zone)).toBe(iso);
    expect(toZonedText(iso, zone)).toBe(text);
  });

  it('a time that occurs twice is the first of the two; a skipped one uses the offset before the change', () => {
    expect(fromZonedText('2026-10-25T02:30', 'Europe/Paris')).toBe('2026-10-25T00:30:00.000Z');
    expect(fromZonedText('2026-03-29T02:30', 'Europe/Paris')).toBe('2026-03-29T01:30:00.000Z');
  });

  it('a day is midnight in UTC, as in the API', () => {
    expect(toZonedText('2026-11-20', 'Europe/Paris')).toBe('2026-11-20T01:00');
  });

  it('an empty or invalid value is no time', () => {
    expect(fromZonedText('', 'UTC')).toBeUndefined();
    expect(toZonedText('yesterday', 'UTC')).toBe('');
  });
});
