import { parse } from 'yaml';
import { expect, it } from 'vitest';
import { yamlOf } from './write-yaml.ts';

it.each([
  '',
  ' ',
  '\n',
  ' \n',
  ' \n \n',
  '\n \n',
  'a\n \nb',
  '\t\n',
  ' a\n  b\n',
  'a\n\n',
  '- a',
  'yes',
  '<<',
  '\u2028',
])('the text %j is read as it was written', (text) => {
  const value = { text, [text]: [text, { inside: text }] };
  expect(parse(yamlOf(value), { merge: true })).toEqual(value);
});
