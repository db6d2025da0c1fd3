import { describe, expect, it, vi } from 'vitest';
import { guardedPattern } from './guarded-pattern.ts';

/** On a busy machine even a harmless pattern may exceed the deadline once, but not repeatedly. */
const inTheEnd = { timeout: 20_000, interval: 100 };

describe('user-written patterns', () => {
  it.each([
    ['abc', 'xabcx', true],
    ['^/([a-z]{2})(?=/|#|\\?|$)', '/de/x', true],
    ['^a.*b$', 'axxb', true],
    ['(a|b)+c', 'ababc', true],
    ['(\\w+) \\1', 'no yes', false],
    ['[*+]', 'a*b', true],
  ])('%s on %s: %j, whether it runs directly or under the deadline', async (source, text, expected) => {
    const pattern = guardedPattern('x', source);
    await vi.waitFor(() => {
      expect(pattern.test(text)).toBe(expected);
      expect(pattern.exec(text)?.[0]).toBe(new RegExp(source).exec(text)?.[0]);
      expect(pattern.replace(text, '<$&>')).toBe(text.replace(new RegExp(source), '<$&>'));
    }, inTheEnd);
  });

  it('ignores case on request', () => {
    expect(guardedPattern('x', 'token', 'i').test('TOKEN')).toBe(true);
    expect(guardedPattern('x', 'token').test('TOKEN')).toBe(false);
  });

  it.each([
    ['^(a+)+\\1$', `${'a'.repeat(200)}!`],
    ['^(a|aa)+\\1$', `${'a'.repeat(200)}!`],
    ['(.*)(.*)(.*)(.*)(.*)(.*)(.*)(?=x)', 'a'.repeat(2000)],
    ['^(a?){30}(a?){30}(a?){30}(?=b)', 'a'.repeat(90)],
  ])('%s is stopped, again and again, and the error says which setting', async (source, text) => {
    const pattern = guardedPattern('mine', source);
    for (let round = 0; round < 2; round++) {
      // Without the deadline it would run for years.
      expect(() => pattern.test(text)).toThrow('"mine" took more than 50 ms');
    }
    await vi.waitFor(() => expect(pattern.test('')).toBeTypeOf('boolean'), inTheEnd);
  });

  it('an invalid pattern is refused without repeating it', () => {
    expect(() => guardedPattern('mine', '(secret')).toThrow('setting "mine": expected a regular expression');
  });
});
