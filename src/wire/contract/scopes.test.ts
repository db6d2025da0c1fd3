import { expect, it } from 'vitest';
import { allScopes, hasScope } from './scopes.ts';

it('* includes every scope except that of erasing, which a key has only if it was granted by name', () => {
  expect(allScopes.filter((scope) => !hasScope(['*'], scope))).toEqual(['erasure:read', 'erasure:write']);
  expect(hasScope(['*', 'erasure:write'], 'erasure:write')).toBe(true);
  expect(hasScope(['*', 'erasure:read'], 'erasure:write')).toBe(false);
  expect(hasScope(['erasure:write'], 'erasure:read')).toBe(true);
});
