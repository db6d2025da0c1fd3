import { describe, expect, it } from 'vitest';
import { endsInLinearTime } from './guarded-pattern.ts';

describe('patterns that run in linear time', () => {
  it.each(['^(a+)+$', '^(?:a|aa|b*)*$', '(x+x+)+y', '^(\\w+\\s?)*$'])('%s ends on any text', (source) => {
    expect(endsInLinearTime(source)).toBe(true);
    const started = process.cpuUsage();
    expect(new RegExp(source).test(`${'a'.repeat(20_000)}${'x'.repeat(2000)}!`)).toBe(false);
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
  });

  it.each([
    ['^/(de|en)/', '/en/x', true],
    ['\\bfoo\\b', 'a foo b', true],
    ['^[^@]+@example\\.com$', 'ada@example.org', false],
    ['a{2,5}', 'caab', true],
  ])('%s in %s means what it always means: %s', (source, text, expected) => {
    expect(endsInLinearTime(source)).toBe(true);
    expect(new RegExp(source).test(text)).toBe(expected);
  });

  it.each(['(?=a)b', '(?!a)b', '(a)\\1', 'a{1000}'])('%s may not end in linear time', (source) => {
    expect(endsInLinearTime(source)).toBe(false);
  });

  it('an invalid pattern is an error', () => {
    expect(() => endsInLinearTime('(')).toThrow(SyntaxError);
  });
});
