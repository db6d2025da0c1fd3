import { expect, it } from 'vitest';
import { componentsOf, rolesProblem } from './roles.ts';

const stores = { databaseUrl: '', clickhouseUrl: '' };

it('one process with all roles runs every component', () => {
  expect(rolesProblem({ ...stores, roles: ['capture', 'worker', 'api'] })).toBeUndefined();
  expect([...componentsOf(['capture', 'worker', 'api'])].sort()).toEqual([
    'api-routes',
    'capture-routes',
    'event-log',
    'event-store',
    'jobs',
    'pipeline',
  ]);
});

it('split roles on the embedded log are refused with a sentence', () => {
  expect(rolesProblem({ ...stores, roles: ['capture'] })).toMatch(/expected all roles .* got: capture\. .* remove/);
});
