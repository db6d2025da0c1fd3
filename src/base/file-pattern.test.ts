import { describe, expect, it } from 'vitest';
import { alternativesMax, createNameMatcher, expandBraces, PatternError } from './file-pattern.ts';

describe('braces in a path', () => {
  it.each([
    ['a{b,c}d', ['abd', 'acd']],
    ['{a,b}{1,2}', ['a1', 'a2', 'b1', 'b2']],
    ['{a,b{c,d}}', ['a', 'bc', 'bd']],
    ['{,x}y', ['y', 'xy']],
    ['{8..11}', ['8', '9', '10', '11']],
    ['{11..8}', ['11', '10', '9', '8']],
    ['{08..11}', ['08', '09', '10', '11']],
    ['{x}', ['{x}']],
    ['{a,b', ['{a,b']],
    ['{x}{a,b}', ['{x}a', '{x}b']],
    ['a}b', ['a}b']],
  ])('%s expands to %j', (pattern, paths) => {
    expect(expandBraces(pattern)).toEqual(paths);
  });

  it.each(['{1..20000}', '{a,b}'.repeat(16), '{0..999999999}', `{${'x,'.repeat(1001)}}`, '{1..100}{1..100}'])(
    '%s is refused before expansion',
    (pattern) => {
      expect(() => expandBraces(pattern)).toThrow(PatternError);
      expect(() => expandBraces(pattern)).toThrow(String(alternativesMax));
    },
  );

  it('many unclosed ones take no time, and the length of a pattern is limited', () => {
    expect(expandBraces('{'.repeat(4000))).toHaveLength(1);
    expect(() => expandBraces('a'.repeat(4097))).toThrow('4096');
  });
});

describe('a pattern of a name', () => {
  it.each([
    ['*.json', ['a.json', '.json'], ['a.json']],
    ['a*', ['a', 'ab', 'ba'], ['a', 'ab']],
    ['*a*b*', ['ab', 'xaybz', 'ba'], ['ab', 'xaybz']],
    ['?', ['a', 'ü', '😀', '', 'ab', '.'], ['a', 'ü', '😀']],
    ['[a-c]x', ['ax', 'cx', 'dx'], ['ax', 'cx']],
    ['[!a-c]x', ['ax', 'dx', '-x'], ['dx', '-x']],
    ['[^a]', ['a', 'b'], ['b']],
    ['[]a]', [']', 'a', 'b'], [']', 'a']],
    ['[a-]', ['a', '-', 'b'], ['a', '-']],
    ['[a', ['[a', 'a'], ['[a']],
    ['[.]x', ['.x', 'x'], []],
    ['.*', ['.x', 'x'], ['.x']],
    ['*', ['.', '..', '.x', 'x'], ['x']],
  ])('%s of %j matches %j', (pattern, names, matched) => {
    expect(names.filter(createNameMatcher(pattern))).toEqual(matched);
  });

  it('with many stars costs no more than its length times that of the name', () => {
    expect(createNameMatcher(`${'*a'.repeat(100)}b`)('a'.repeat(255))).toBe(false);
  });
});
