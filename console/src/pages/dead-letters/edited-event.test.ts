import { describe, expect, it } from 'vitest';
import { indentJson, readEdited } from './edited-event.ts';

describe('an edited event', () => {
  it('without changes, the original is replayed even if it is invalid', () => {
    expect(readEdited('{broken', '{broken')).toEqual({ kind: 'ready', json: undefined });
  });

  it('is sent unchanged, with every digit', () => {
    const text = '{"event": "a", "properties": {"n": 12345678901234567890.10}}';
    expect(readEdited(text, '{}')).toEqual({ kind: 'ready', json: text });
  });

  it.each(['[1]', '"text"', 'null', '{"event":'])('%s is refused', (text) => {
    expect(readEdited(text, '{}').kind).toBe('invalid');
  });
});

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
