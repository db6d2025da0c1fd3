import { describe, expect, it } from 'vitest';
import { readEdited } from './edited-event.ts';

describe('an event that was edited', () => {
  it('untouched, the original is replayed, whatever it is', () => {
    expect(readEdited('{broken', '{broken')).toEqual({ kind: 'ready', json: undefined });
  });

  it('is sent as it stands, with every digit', () => {
    const text = '{"event": "a", "properties": {"n": 12345678901234567890.10}}';
    expect(readEdited(text, '{}')).toEqual({ kind: 'ready', json: text });
  });

  it.each(['[1]', '"text"', 'null', '{"event":'])('%s is refused', (text) => {
    expect(readEdited(text, '{}').kind).toBe('wrong');
  });
});
