import { describe, expect, it } from 'vitest';
import { indentJson } from './edited-event.ts';

describe('indented JSON', () => {
  it('matches the indentation of JSON.stringify', () => {
    const value = { a: [1, { b: null, 'c,:{"': 'x\\" [y]' }], d: {}, e: [], f: [[], [1]] };
    expect(indentJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  });

  it('keeps every digit and every escape', () => {
    const text = '{"n":12345678901234567890.10,"e":-0,"s":"\\u00e9\\/"}';
    expect(indentJson(text).replaceAll(/\n\s*|(?<=:) /g, '')).toBe(text);
  });

  it('text that is not JSON stays unchanged', () => {
    expect(indentJson('{"a": ')).toBe('{"a": ');
  });
});
