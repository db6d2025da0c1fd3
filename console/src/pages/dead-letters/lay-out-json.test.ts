import { describe, expect, it } from 'vitest';
import { layOutJson } from './edited-event.ts';

describe('JSON laid out for reading', () => {
  it('is what JSON.stringify would indent', () => {
    const value = { a: [1, { b: null, 'c,:{"': 'x\\" [y]' }], d: {}, e: [], f: [[], [1]] };
    expect(layOutJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  });

  it('keeps every digit and every escape', () => {
    const text = '{"n":12345678901234567890.10,"e":-0,"s":"\\u00e9\\/"}';
    expect(layOutJson(text).replaceAll(/\n\s*|(?<=:) /g, '')).toBe(text);
  });

  it('what is no JSON stays as it is', () => {
    expect(layOutJson('{"a": ')).toBe('{"a": ');
  });
});
