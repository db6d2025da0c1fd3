import { expect, it } from 'vitest';
import { plainText } from './plain-text.ts';

it('a label shows direction marks as code points and is truncated', () => {
  expect(plainText('\u202egnp.exe \u0000')).toBe('⟨U+202E⟩gnp.exe ␀');
  expect(plainText('x'.repeat(10_000))).toBe(`${'x'.repeat(120)}…`);
});
