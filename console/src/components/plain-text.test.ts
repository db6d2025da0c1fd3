import { expect, it } from 'vitest';
import { plainText, visible } from './plain-text.ts';

it('a label shows direction marks as code points and is truncated', () => {
  expect(plainText('\u202egnp.exe \u0000')).toBe('⟨U+202E⟩gnp.exe ␀');
  expect(plainText('x'.repeat(10_000))).toBe(`${'x'.repeat(120)}…`);
});

it.each([
  ['plain \n\t text, Ωmega, עברית, 👩‍👩‍👧', 'plain \n\t text, Ωmega, עברית, 👩‍👩‍👧'],
  ['a\u0000b', 'a␀b'],
  ['\u001b[31m', '␛[31m'],
  ['\u007f', '␡'],
  ['abc\u202egpj.exe', 'abc⟨U+202E⟩gpj.exe'],
  ['\ufeffbom', '⟨U+FEFF⟩bom'],
  ['<b>&amp;</b>', '<b>&amp;</b>'],
])('%j is shown as %s', (text, shown) => {
  expect(visible(text)).toBe(shown);
});
