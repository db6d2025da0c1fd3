import { expect, it } from 'vitest';
import { plainText } from './plain-text.ts';

it('a label shows what would turn its direction, and is no longer than can be read', () => {
  expect(plainText('\u202egnp.exe \u0000')).toBe('⟨U+202E⟩gnp.exe ␀');
  expect(plainText('x'.repeat(10_000))).toBe(`${'x'.repeat(120)}…`);
});
