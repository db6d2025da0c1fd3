import { describe, expect, it } from 'vitest';
import { isGrantedScope } from '../../../../src/wire/contract/scopes.ts';
import { accessesOf, presets, scopesOf, scopesText } from './key-scopes.ts';

describe('scopes of a key', () => {
  it('presets contain only existing scopes', () => {
    expect(presets.flatMap(({ scopes }) => scopes.filter((scope) => !isGrantedScope(scope)))).toEqual([]);
  });

  it('write takes precedence over read in any order, and accesses convert back to scopes', () => {
    const accesses = accesses3(['plugin:write', 'plugin:read', 'query:read']);
    expect(accesses).toEqual(['write', 'read', 'none']);
    expect(accesses3(['plugin:read', 'plugin:write', 'query:read'])).toEqual(accesses);
    expect(scopesOf(accessesOf(['query:read', 'plugin:write']))).toEqual(['plugin:write', 'query:read']);
  });

  it('a long list is abbreviated', () => {
    expect(scopesText(['*'])).toBe('all scopes');
    expect(scopesText(['a:read', 'b:read'])).toBe('a:read, b:read');
    expect(scopesText(['a:read', 'b:read', 'c:read', 'd:read'])).toBe('a:read, b:read and 2 more');
  });
});

function accesses3(scopes: readonly string[]): string[] {
  const { plugin, query, person } = accessesOf(scopes);
  return [plugin, query, person];
}
