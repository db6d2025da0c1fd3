import { expect, it } from 'vitest';
import { visible } from './visible-text.ts';

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
