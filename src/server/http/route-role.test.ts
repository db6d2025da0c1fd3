import { describe, expect, it } from 'vitest';
import { hasRole, roles } from '../../wire/contract/roles.ts';
import { roleOf } from './route-role.ts';

describe('the role that a route requires', () => {
  it.each([
    ['GET', 'plugin:read', 'viewer'],
    ['GET', 'any-key', 'viewer'],
    ['GET', 'plugin:write', 'editor'],
    ['POST', 'plugin:read', 'editor'],
    ['POST', 'any-key', 'editor'],
    ['PATCH', 'project:write', 'editor'],
    ['DELETE', 'organization:write', 'admin'],
    ['GET', 'user:write', 'admin'],
  ] as const)('%s with %s: %s by default', (method, scope, expected) => {
    expect(roleOf({ method, scope })).toBe(expected);
    expect(roleOf({ method, scope, role: 'viewer' })).toBe('viewer');
    expect(roleOf({ method, scope, role: 'admin' })).toBe('admin');
  });

  it('each role includes the rights of the ones before it', () => {
    expect(roles.map((role) => roles.filter((needed) => hasRole(role, needed)))).toEqual([
      ['viewer'],
      ['viewer', 'editor'],
      ['viewer', 'editor', 'admin'],
    ]);
  });
});
