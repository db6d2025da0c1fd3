import { describe, expect, it } from 'vitest';
import { daysFault, formOf, nameFault, policyOf, type RetentionForm } from './retention-form.ts';

const policy = {
  live_days: 365,
  historical_days: null,
  events: [{ event: "it's 鞋", live_days: null, historical_days: 30 }],
};

describe('the form of a retention policy', () => {
  it('gives back the policy that it was filled with', () => {
    expect(policyOf(formOf(policy))).toEqual(policy);
  });

  it.each(['0', '-1', '1.5', '1e3', 'x', '36501', '007'])('refuses %s as days', (text) => {
    expect(daysFault(text)).toContain('Expected 1 to 36500 days');
    expect(policyOf({ ...formOf(policy), live: text })).toBeUndefined();
  });

  it.each(['', ' ', '1', '36500'])('takes "%s" as days', (text) => {
    expect(daysFault(text)).toBeUndefined();
  });

  it('refuses a rule without a name, and a name that is listed twice', () => {
    const row = { live: '1', historical: '' };
    const form: RetentionForm = {
      ...row,
      rules: [
        { ...row, id: 1, event: 'a' },
        { ...row, id: 2, event: '' },
        { ...row, id: 3, event: 'a' },
      ],
    };
    expect(form.rules.map((rule) => nameFault(form, rule))).toEqual([
      'This name is listed twice.',
      'Expected the name of an event.',
      'This name is listed twice.',
    ]);
    expect(policyOf(form)).toBeUndefined();
  });
});
