import { describe, expect, it } from 'vitest';
import { endsInLinearTime } from './guarded-pattern.ts';

describe('patterns that end in linear time', () => {
  it.each(['^(a+)+$', '^(?:a|aa|b*)*$', '(x+x+)+y', '^(\\w+\\s?)*$'])('%s ends, whatever the text', (source) => {
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

  it.each(['(?=a)b', '(?!a)b', '(a)\\1', 'a{1000}'])('%s need not', (source) => {
    expect(endsInLinearTime(source)).toBe(false);
  });

  it('what is no pattern is an error', () => {
    expect(() => endsInLinearTime('(')).toThrow(SyntaxError);
  });
});
