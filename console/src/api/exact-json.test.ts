import { describe, expect, it } from 'vitest';
import { exactDigits, parseExact } from './exact-json.ts';

describe('JSON responses', () => {
  it('integers that a number cannot hold are shown and sent back digit by digit', () => {
    const text = '{"id":12345678901234567890,"list":[-9007199254740993],"small":42,"float":0.1234567890123456789}';
    const value = parseExact(text) as { readonly id: unknown; readonly small: unknown };
    expect(exactDigits(value.id)).toBe('12345678901234567890');
    expect([value.small, exactDigits(value.small)]).toEqual([42, undefined]);
    expect(JSON.stringify(value)).toBe(text.replace('0.1234567890123456789', '0.12345678901234568'));
  });

  it('digits in strings stay strings', () => {
    expect(parseExact('{"id":"12345678901234567890"}')).toEqual({ id: '12345678901234567890' });
  });
});
