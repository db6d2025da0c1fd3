import type { UnplannedPolicy } from '../../../../src/wire/contract/plan-policies.ts';

export const policyLabels: Readonly<Record<UnplannedPolicy, string>> = {
  allow: 'Allow',
  warn: 'Warn',
  drop: 'Drop',
  dead_letter: 'Dead letter',
};

export function policyChoice<Policy extends UnplannedPolicy>(value: Policy) {
  return { value, label: policyLabels[value] };
}
