import { expect, it } from 'vitest';
import { rolesProblem } from './roles.ts';

it('one process with all roles is what there is', () => {
  expect(rolesProblem({ roles: ['capture', 'worker', 'api'] })).toBeUndefined();
});

it('split roles on the embedded log are refused with a sentence', () => {
  expect(rolesProblem({ roles: ['capture'] })).toMatch(/expected all roles .* got: capture\. .* remove/);
});
