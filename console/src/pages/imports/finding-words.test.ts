import { expect, it } from 'vitest';
import { unusualValueKeys, unusualValues } from '../../../../src/wire/contract/unusual-values.ts';
import { identityRules } from '../../../../src/wire/contract/import-choice.ts';
import { findingLabel, ruleLabel } from './finding-words.ts';
import { findingsOf } from './run-results.ts';

it('every rule that a finding can have is described', () => {
  const rules = [
    ...unusualValueKeys.flatMap((key) => unusualValues[key].rules.map((rule) => [key, rule] as const)),
    ...identityRules.map((rule) => ['identity', rule] as const),
  ];
  expect(rules.filter(([code, rule]) => ruleLabel(code, rule) === rule)).toEqual([]);
});

it('a finding without a label is named after its code', () => {
  expect(findingLabel('code_of_a_later_version')).toBe('Code of a later version');
});

it('checks by old versions have their warnings as findings, each once', () => {
  const warnings = ['a', 'b', 'a'];
  expect(findingsOf({ warnings }).map(({ detail }) => detail)).toEqual(['a', 'b']);
});
