import { describe, expect, it } from 'vitest';
import { readEdited } from './edited-event.ts';

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
