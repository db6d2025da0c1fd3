import { describe, expect, it } from 'vitest';
import { parseExact } from '../api/exact-json.ts';
import { isJsonObject } from './json-value.ts';
import { oneLine, valueText } from './one-line.ts';

describe('properties in one line', () => {
  it('start with the ones the sender set, and are truncated', () => {
    expect(oneLine({ $lib: 'web', plan: 'pro', seats: 3 })).toBe('plan: pro, seats: 3, $lib: web');
    expect(oneLine({ text: 'x'.repeat(5_000), more: 1 })).toHaveLength(201);
    expect(oneLine({})).toBe('');
  });

  it('keep integers beyond 2^53 digit by digit', () => {
    const value = parseExact('{"id":12345678901234567890,"list":[9007199254740993]}');
    if (!isJsonObject(value)) throw new Error('expected an object');
    expect(oneLine(value)).toBe('id: 12345678901234567890, list: [9007199254740993]');
    expect([valueText(null), valueText(true), valueText('a')]).toEqual(['null', 'true', 'a']);
  });
});
