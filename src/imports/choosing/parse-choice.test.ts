import { describe, expect, it } from 'vitest';
import { ChoiceError, parseChoice } from './parse-choice.ts';

describe('the error for an invalid choice names the place', () => {
  it.each<[unknown, RegExp]>([
    [7, /^choose must be object/],
    [{ event: {} }, /^choose\.event: there is no such choice/],
    [{ events: { onyl: ['a'] } }, /^choose\.events\.onyl: there is no such choice/],
    [{ events: { only: [] } }, /^choose\.events\.only must not have fewer than 1/],
    [{ events: { only: [''] } }, /^choose\.events\.only\.0 must not have fewer than 1/],
    [{ sample: 0 }, /^choose\.sample must be > 0/],
    [{ sample: 1.5 }, /^choose\.sample must be <= 1/],
    [{ time: { from: 'soon' } }, /^choose\.time\.from: expected a time/],
    [{ time: { from: '2024-02-01', to: '2024-02-01' } }, /^choose\.time\.to: expected a time after "from"/],
  ])('%j', (value, message) => {
    expect(() => parseChoice(value)).toThrow(ChoiceError);
    expect(() => parseChoice(value)).toThrow(message);
  });

  it('an empty choice is undefined', () => {
    expect(parseChoice({})).toBeUndefined();
  });
});
